#pragma once
#include "quern/formats/posting_reader.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_memory.hpp"
#include "quern/search/query_terms.hpp"

/// The distinct queries of a log, and their visits of each list.
namespace quern {

// Caching blocks: the units of posting lists that a plan admits to GPU memory (Wang et al. 3.3.1).

/// Cuts the lists of an index into caching blocks, each a whole number of index blocks, and computes their sizes. A
/// caching block decodes from its own words, so the first n of a list are one range of its words, and one of its
/// impacts.
class CacheBlocks {
 public:
  static constexpr std::uint64_t min_size = 256;

  /// `size`: postings per caching block. Throws InvalidArgument if it is not a multiple of the index's block size.
  /// Functions that read all lists stay within the memory of `resources`. `with_impacts`: whether the GPU also stores
  /// the impacts that quantized scores need.
  CacheBlocks(const IndexReader& index, std::uint64_t size, const Resources& resources = default_resources(),
              bool with_impacts = false);

  /// The default size: 256, or the index's block size if that is larger.
  static std::uint64_t default_size(const IndexReader& index);

  const IndexReader& index() const { return index_; }
  std::uint64_t size() const { return size_; }
  /// The number of caching blocks of a list; 1 if the index stores it as a single block.
  std::uint64_t count(const PostingList& list) const {
    return list.block_last.empty() ? 1 : (list.df + size_ - 1) / size_;
  }
  /// The caching block whose range contains a docID; count(list) after the last.
  std::uint64_t containing(const PostingList& list, docid_t docid) const;
  /// Postings in the first n blocks.
  std::uint64_t postings(const PostingList& list, std::uint64_t n) const {
    return n >= count(list) ? list.df : n * size_;
  }
  /// GPU memory of the first n blocks: coded words and impacts. 0 for a list of one index block, which is transferred
  /// with its queries.
  std::uint64_t bytes(const PostingList& list, std::uint64_t n) const;
  /// The last docID of the first n blocks, n at least 1 and below count(list).
  docid_t last(const PostingList& list, std::uint64_t n) const { return list.block_last[n * ratio_ - 1]; }
  /// Memory of all coded lists of the index: 100 % for budgets in percent.
  std::uint64_t index_bytes() const { return coded_list_bytes(index_, with_impacts_); }
  /// Memory of all lists that a GPU can cache.
  std::uint64_t kept_bytes() const;
  /// Calls visit(list) for all lists of the index, in the order of terms.
  void for_each_list(const std::function<void(const PostingList&)>& visit) const;

 private:
  const IndexReader& index_;
  std::uint64_t size_, ratio_;  ///< ratio_: index blocks per caching block
  bool with_impacts_;
  unsigned threads_;
  std::uint64_t pages_bytes_;  ///< budget for the mapped index while all lists are read
};

/// The memory budget of a log's queries while they run.
inline QueryMemory memory_of_log_queries(const Resources& resources) {
  return {resources.memory_bytes / 4, resources.threads};
}

/// A distinct query of a log and its occurrences.
struct LogQuery {
  QueryTerms terms;                   ///< weights are whole
  std::vector<std::uint64_t> places;  ///< in the log, from 0, rising
};

/// The distinct queries of a log. Queries are equal if they have the same terms, in any order. Sorted on disk if they
/// exceed the memory budget.
class LogQueries {
 public:
  /// Each term of a vector counts once, unless its weight is 0.
  LogQueries(const AnalyzerOptions& analyzer, const Resources& resources, QueryKind kind = QueryKind::text);

  /// Adds a query. Throws InvalidArgument if it should be a vector and isn't.
  void add(std::string_view text);
  /// Adds a vector; its text is text_of_terms(). Throws InvalidArgument like QueryReader::use().
  void add(QueryTerms vector);
  /// Queries added, repetitions included.
  std::uint64_t queries() const { return queries_; }
  /// XXH3-64 of the texts, each followed by a zero byte.
  std::uint64_t hash() const { return hash_.value(); }
  /// Calls visit(queries) for batches of the distinct queries that have terms, ordered by terms. A batch takes at most
  /// a sixteenth of the memory budget and some thousand queries. A query with too many places for a batch appears again
  /// in the next one, with the rest of them. Call at most once. Returns the number of distinct queries.
  std::uint64_t for_each(const std::function<void(std::span<const LogQuery>)>& visit);

 private:
  void add(const QueryTerms& terms, std::string_view text);

  QueryReader reader_;
  unsigned threads_;
  std::uint64_t max_group_bytes_;  ///< of queries visited together, with their visits
  ExternalSort sorted_;
  std::uint64_t queries_ = 0;
  StreamHash hash_;
};

/// The end of a query's visit of a list. With its lists l(0), l(1), … in the order of summation:
enum class VisitKind {
  visited,  ///< up to the last document found in all of l(0) to l(i) (Wang et al. 3.3.1)
  probed    ///< up to the last document looked up in l(i): found in all of l(0) to l(i - 1)
};

/// The names of visit kinds on command lines and in plans.
inline constexpr NamedValue<VisitKind> visit_kinds[] = {
    {"visited", VisitKind::visited, "up to the last document that is found in it and in all shorter lists"},
    {"probed", VisitKind::probed, "up to the last document that is looked up in it"},
};

/// Use of one list by the queries of a log.
struct ListDemand {
  term_t term = 0;
  std::uint32_t blocks = 0;       ///< caching blocks of the list
  std::uint64_t df = 0;           ///< postings of the list
  std::uint64_t queries = 0;      ///< f_t: queries with the term
  std::uint64_t first_visit = 0;  ///< index of the list's first block in LogDemand::visits
};

/// Use of an index's lists by the queries of a log. Queries without results, because a term isn't in the index or no
/// document has all terms, read nothing.
struct LogDemand {
  std::vector<ListDemand> lists;      ///< lists that queries read, by ascending term
  std::vector<std::uint64_t> visits;  ///< queries that visit each caching block; never increases along a list
  std::uint64_t queries = 0, distinct = 0;
  std::uint64_t unknown = 0;   ///< queries without terms, or with one that isn't in the index
  std::uint64_t empty = 0;     ///< queries whose terms share no document
  std::uint64_t log_hash = 0;  ///< LogQueries::hash()

  std::span<const std::uint64_t> visits_of(const ListDemand& list) const {
    return std::span(visits).subspan(list.first_visit, list.blocks);
  }
};

/// The postings between two tests for early termination: `round`, or if that is 0 the default, a caching block's.
std::uint64_t round_of(const IndexReader& index, std::uint64_t round);

/// Runs each distinct query of the log once, in parallel, with `and` and the engine's early termination, and calls
/// take(query, visits) for each, ordered by terms; a query with very many places comes several times, as in
/// LogQueries::for_each(). `visits` is the result of QueryEngine::visits() for `k` and round_of(`round`). Returns the
/// number of distinct queries with terms.
std::uint64_t visit_log(const QueryEngine& engine, LogQueries& log, std::size_t k, std::uint64_t round,
                        const std::function<void(const LogQuery&, const std::vector<ListVisit>&)>& take,
                        const Resources& resources);

struct DemandOptions {
  std::size_t k = 10;
  std::uint64_t round = 0;  ///< postings of l(0) between two tests for early termination; 0: the index's default
  VisitKind kind = VisitKind::visited;
  QueryKind queries = QueryKind::text;  ///< of the log
};

/// Counts the visits that visit_log() finds, each as often as its query occurs. The result and what policies sort take
/// 40 bytes for each list that is read and 24 for each of its caching blocks. Throws InvalidArgument if no query has
/// results, or if a quarter of the memory does not suffice.
LogDemand measure_demand(const QueryEngine& engine, const CacheBlocks& blocks, LogQueries& log,
                         const DemandOptions& options, const Resources& resources);

}  // namespace quern
