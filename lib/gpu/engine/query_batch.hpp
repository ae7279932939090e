#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/engine/term_numbers.hpp"
#include "quern/query/query_engine.hpp"

/// Queries as kernels take them. Scores are found in two steps: each document's score is bounded in small integers,
/// *units*, whose sums need no order and fit 16 bits; the few documents whose sum passes the query's threshold are then
/// scored exactly. A query's scale says how many units a score of 1 is.
namespace quern::gpu {

/// A posting's value, in 16 bits, is its impact in steps of 1 / 65535, rounded up; or, quantized, the impact itself.
inline constexpr std::uint32_t value_steps = 65535;
/// Sums of units stay within this.
inline constexpr std::uint32_t max_units = 65535;
/// Queries of more terms are answered by the CPU.
inline constexpr std::size_t max_terms = 64;
/// Steps in which a query's threshold rises.
inline constexpr std::uint32_t threshold_steps = 256;

struct BatchTerm {
  std::uint32_t list = 0;         ///< of the batch; before it has one, the term
  float weight = 0;               ///< w_t, or n_t for quantized scores
  std::uint32_t unit_weight = 0;  ///< units of a value, times 2^16: see units_of()
  std::uint32_t unit_more = 0;    ///< 1 where units are rounded up
  std::uint32_t max_units = 0;    ///< of a posting
  float max_term_score = 0;       ///< bounds the list's parts
  float impact_steps = 0;         ///< quantized impacts are at most that times the impact, plus 1/2, and not below 1
};

struct BatchQuery {
  std::uint32_t first_term = 0, terms = 0;
  std::uint32_t min_units = 1;   ///< no result has fewer: the primed threshold
  std::uint32_t step_shift = 0;  ///< 2^step_shift units are one of the threshold's steps
  float scale = 1;               ///< units of a score of 1
  float lower_factor = 1;        ///< a sum of u units is at least u * lower_factor - lower_less units of real score
  std::uint32_t lower_less = 0;
  std::uint32_t exact_units = 0;  ///< 1: sums of units are the scores
  std::uint32_t first_task = 0;   ///< of `and`: blocks of the shortest lists of the queries before
};

/// A query that waits for a batch.
struct WaitingQuery {
  std::span<const WeightedList> lists;  ///< not more than max_terms
  std::uint32_t min_units = 0;          ///< no result is known to have fewer
};

/// A batch on the host.
class QueryBatch {
 public:
  explicit QueryBatch(const QueryEngine& engine);

  /// Adds queries as long as `fits` says that the next one does; returns how many it took. k is for their primed
  /// thresholds. Many threads work out what needs no other query.
  std::size_t add(
      std::span<const WaitingQuery> waiting, std::size_t k, bool conjunctive,
      const std::function<bool()>& fits = [] { return true; });
  const QueryEngine& engine() const { return engine_; }
  /// Bounds what documents' scores begin with.
  float max_static_score() const { return max_static_score_; }

  std::vector<ListView> lists;
  std::vector<BatchTerm> terms;
  std::vector<BatchQuery> queries;
  std::vector<std::uint32_t> raw_docids, raw_values;  ///< postings of raw lists: docIDs; frequencies or impacts
  std::uint32_t tasks = 0;                            ///< of `and`, see BatchQuery::first_task
  std::uint32_t blocks = 0;                           ///< of all lists; a raw list counts as one
  std::uint64_t entries = 0;                          ///< see ListView::first_entry
  std::uint64_t postings = 0;                         ///< in the lists of all queries

 private:
  /// A query's numbers but for its places in the batch, and its terms' but for their lists.
  BatchQuery numbers_of(const WaitingQuery& waiting, std::size_t k, bool conjunctive,
                        std::span<BatchTerm> own_terms) const;
  void add(const WaitingQuery& waiting, const BatchQuery& numbers, std::span<const BatchTerm> own_terms);
  void add_list(const PostingList& list);
  /// To the raw arrays from the place that its view names.
  void decode_raw(const PostingList& list, const ListView& view);

  const QueryEngine& engine_;
  float max_static_score_ = 0;  ///< of what documents' scores begin with
  TermNumbers numbers_;
  std::vector<std::pair<const PostingList*, std::uint32_t>> new_raw_;  ///< lists to be decoded, and their numbers
  std::size_t raw_postings_ = 0;
};

}  // namespace quern::gpu
