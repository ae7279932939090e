#pragma once
#include <functional>
#include <optional>
#include <string_view>

#include "quern/core/bm25.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/term_counts.hpp"

namespace quern {

/// What the index of a shard takes from the whole collection, so that it scores as an index of all documents does.
struct WholeOfShard {
  ShardManifest manifest;
  DocidRange docids;  ///< of the whole order: the shard's
  CollectionStatistics statistics;
  std::optional<float> quantize_top;  ///< the greatest term score, for quantized impacts
  /// The counts of a term in all documents. Terms are asked for in rising order, each once.
  std::function<TermCounts(std::string_view)> counts;
};

}  // namespace quern
