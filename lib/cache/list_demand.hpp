#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "quern/cache/cache_blocks.hpp"
#include "quern/cache/log_queries.hpp"
#include "quern/query/query_engine.hpp"

namespace quern {

/// What a query's visit of a list counts. Its lists being l(0), l(1), … in the order of summation:
enum class VisitKind {
  visited,  ///< up to the last document found in all of l(0) to l(i) (Wang et al. 3.3.1)
  probed    ///< up to the last document that was looked up in l(i): found in all of l(0) to l(i - 1)
};

/// What the queries of a log ask of one list.
struct ListDemand {
  PostingList list;
  std::uint64_t queries = 0;          ///< f_t: that have the term
  std::vector<std::uint64_t> visits;  ///< of each caching block, how many visit it; never rises along the list
};

/// What the queries of a log ask of an index's lists. Queries that find nothing, since a term is not in the index or no
/// document has all terms, ask nothing.
struct LogDemand {
  std::map<term_t, ListDemand> lists;
  std::uint64_t queries = 0, distinct = 0;
  std::uint64_t unknown = 0;  ///< queries with a term that is not in the index, or without any
  std::uint64_t empty = 0;    ///< queries without a common document of their terms
};

struct DemandOptions {
  std::size_t k = 10;
  std::uint64_t round = 256;  ///< postings of l(0) between two tests for early termination
  VisitKind kind = VisitKind::visited;
};

/// Runs each distinct query of the log once, in parallel, through the AND that serves queries, early termination as
/// `engine` has it. Visits count as often as their query came. Memory grows with the caching blocks of the lists that
/// are asked for, not with the queries. Throws InvalidArgument where no query finds anything.
LogDemand measure_demand(const QueryEngine& engine, const CacheBlocks& blocks, LogQueries& log,
                         const DemandOptions& options, const Resources& resources);

}  // namespace quern
