#pragma once
#include "quern/api/searcher.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/search/query_engine.hpp"

namespace quern::api {

/// A caller's choice with what the index says where it is silent.
ScoringOptions scoring_options(const Scoring& scoring, const IndexReader& index);

}  // namespace quern::api
