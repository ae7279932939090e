#pragma once
#include <span>
#include <vector>

#include "quern/api/searcher.hpp"
#include "quern/api/work.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/search/query_engine.hpp"

namespace quern::api {

/// A caller's choice with what the index says where it is silent.
ScoringOptions scoring_options(const Scoring& scoring, const IndexReader& index);

/// The terms of a query, each once, as the text of a vector must have them. A weight that can't be is not added to
/// another, and so refused later.
std::vector<QueryTerm> query_terms(std::span<const WeightedTerm> terms);

/// Throws InvalidArgument for a value that is no device.
inline QueryDevice query_device(Device device) {
  switch (device) {
    case Device::cpu:
      return QueryDevice::cpu;
    case Device::gpu:
      return QueryDevice::gpu;
    case Device::automatic:
      return QueryDevice::automatic;
  }
  throw quern::InvalidArgument("unknown device");
}

}  // namespace quern::api
