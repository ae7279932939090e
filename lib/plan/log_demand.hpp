#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/named.hpp"
#include "quern/core/resources.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/plan/cache_blocks.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/query_terms.hpp"

/// What the queries of a log read: its distinct queries, and their visits of each list.
namespace quern {

/// What the queries of a log may take while they run.
inline QueryMemory memory_of_log_queries(const Resources& resources) {
  return {resources.memory_bytes / 4, resources.threads};
}

/// A distinct query of a log, and where it occurs.
struct LogQuery {
  QueryTerms terms;                   ///< weights are whole
  std::vector<std::uint64_t> places;  ///< in the log, from 0, rising
};

/// The distinct queries of a log: queries with the same terms are the same, in any order and whatever is between them.
/// Sorted on disk if the memory budget is too small for them.
class LogQueries {
 public:
  /// Of vectors each term counts once, whatever its weight is, unless that is 0.
  LogQueries(const AnalyzerOptions& analyzer, const Resources& resources, QueryKind kind = QueryKind::text);

  /// Adds a query's text. Throws InvalidArgument if it is to be a vector and is none.
  void add(std::string_view text);
  /// Queries added, repetitions included.
  std::uint64_t queries() const { return queries_; }
  /// XXH3-64 of their texts, each followed by a byte of zero.
  std::uint64_t hash() const { return hash_.value(); }
  /// Calls visit(queries) for all distinct queries that have a term, ordered by their terms, as many at a time as a
  /// sixteenth of the memory budget holds, some thousand at most. One that occurs too often for that is there again in
  /// the next call, with the rest of its places. May be called once. Returns how many distinct queries there are.
  std::uint64_t for_each(const std::function<void(std::span<const LogQuery>)>& visit);

 private:
  QueryReader reader_;
  unsigned threads_;
  std::uint64_t max_group_bytes_;  ///< of queries that are visited together, with what they visit
  ExternalSort sorted_;
  std::uint64_t queries_ = 0;
  StreamHash hash_;
};

/// How far a query's visit of a list goes. With its lists l(0), l(1), … in the order of summation:
enum class VisitKind {
  visited,  ///< up to the last document found in all of l(0) to l(i) (Wang et al. 3.3.1)
  probed    ///< up to the last document looked up in l(i): found in all of l(0) to l(i - 1)
};

/// Kinds of visits as command lines and plans name them.
inline constexpr NamedValue<VisitKind> visit_kinds[] = {
    {"visited", VisitKind::visited, "up to the last document that is found in it and in all shorter lists"},
    {"probed", VisitKind::probed, "up to the last document that is looked up in it"},
};

/// What the queries of a log read of one list.
struct ListDemand {
  term_t term = 0;
  std::uint32_t blocks = 0;       ///< caching blocks of the list
  std::uint64_t df = 0;           ///< postings of the list
  std::uint64_t queries = 0;      ///< f_t: queries that have the term
  std::uint64_t first_visit = 0;  ///< of the list's blocks in LogDemand::visits
};

/// What the queries of a log read of an index's lists. Queries without results, because a term is not in the index or
/// no document has all terms, read nothing.
struct LogDemand {
  std::vector<ListDemand> lists;      ///< those that a query reads, by rising term
  std::vector<std::uint64_t> visits;  ///< queries that visit each caching block; never rises along a list
  std::uint64_t queries = 0, distinct = 0;
  std::uint64_t unknown = 0;   ///< queries with a term that is not in the index, or without any
  std::uint64_t empty = 0;     ///< queries whose terms have no document in common
  std::uint64_t log_hash = 0;  ///< LogQueries::hash()

  std::span<const std::uint64_t> visits_of(const ListDemand& list) const {
    return std::span(visits).subspan(list.first_visit, list.blocks);
  }
};

/// Runs each distinct query of the log once, in parallel, with `and` and with early termination as `engine` has it, and
/// calls take(query, visits) for each, ordered by their terms; a query with very many places comes several times, as
/// LogQueries::for_each() says. `visits` is what QueryEngine::visits() returns for `k` and `round`. Returns how many
/// distinct queries have a term.
std::uint64_t visit_log(const QueryEngine& engine, LogQueries& log, std::size_t k, std::uint64_t round,
                        const std::function<void(const LogQuery&, const std::vector<ListVisit>&)>& take,
                        const Resources& resources);

struct DemandOptions {
  std::size_t k = 10;
  std::uint64_t round = 256;  ///< postings of l(0) between two tests for early termination
  VisitKind kind = VisitKind::visited;
  QueryKind queries = QueryKind::text;  ///< of the log
};

/// Counts the visits of a log's queries as visit_log() finds them, each as often as its query occurs. What it returns
/// and what policies sort takes 40 bytes for each list that is read and 24 for each of its caching blocks. Throws
/// InvalidArgument if no query has results, or if a quarter of the memory is less than that.
LogDemand measure_demand(const QueryEngine& engine, const CacheBlocks& blocks, LogQueries& log,
                         const DemandOptions& options, const Resources& resources);

}  // namespace quern
