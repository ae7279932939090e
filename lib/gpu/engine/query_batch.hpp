#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/gpu/device/index_view.hpp"
#include "quern/query/query_engine.hpp"

/// Queries as kernels take them. Scoring has two steps. First each document gets an upper bound of its score in small
/// integers, *units*, which can be summed in any order and fit 16 bits; then the few documents whose sum reaches the
/// query's threshold are scored exactly. A query's scale is the number of units of a score of 1.
namespace quern::gpu {

/// A posting's value, in 16 bits, is its impact in steps of 1 / 65535, rounded up; or, quantized, the impact itself.
inline constexpr std::uint32_t value_steps = 65535;
/// Upper bound of sums of units.
inline constexpr std::uint32_t max_units = 65535;
/// The CPU answers queries with more terms.
inline constexpr std::size_t max_terms = 64;
/// Steps in which a query's threshold rises.
inline constexpr std::uint32_t threshold_steps = 256;

struct BatchTerm {
  std::uint32_t list = 0;         ///< of the batch; before it has one, the term
  float weight = 0;               ///< w_t, or n_t for quantized scores
  std::uint32_t unit_weight = 0;  ///< units of a value, times 2^16: see units_of()
  std::uint32_t unit_more = 0;    ///< 1 where units are rounded up
  std::uint32_t max_units = 0;    ///< of a posting
  float max_term_score = 0;       ///< upper bound of the list's term scores
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
  std::span<const WeightedList> lists;  ///< at most max_terms
  std::uint32_t min_units = 0;          ///< no result is known to have fewer
};

/// Numbers terms in the order of their first occurrence. A table without a node per term, since all queries of a batch
/// wait for it.
class TermNumbers {
 public:
  /// The term's number, and whether it has just got it.
  std::pair<std::uint32_t, bool> of(term_t term) {
    if (2 * count_ >= slots_.size()) grow();
    Slot& slot = slot_of(term);
    if (slot.number != none) return {slot.number, false};
    slot = {term, count_};
    return {count_++, true};
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Slot {
    term_t term = 0;
    std::uint32_t number = none;
  };

  /// The term's slot, or the empty one that it would get.
  Slot& slot_of(term_t term) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = (term * 0x9e3779b97f4a7c15) >> 32 & mask;
    while (slots_[place].number != none && slots_[place].term != term) place = (place + 1) & mask;
    return slots_[place];
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 4 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.number != none) slot_of(slot.term) = slot;
  }

  std::vector<Slot> slots_;  ///< a power of two of them, or none
  std::uint32_t count_ = 0;
};

/// A batch on the host.
class QueryBatch {
 public:
  explicit QueryBatch(const QueryEngine& engine);

  /// Adds queries until `fits` returns false, and returns how many were added. k is for their primed thresholds. Many
  /// threads compute what depends on no other query.
  std::size_t add(
      std::span<const WaitingQuery> waiting, std::size_t k, bool conjunctive,
      const std::function<bool()>& fits = [] { return true; });
  const QueryEngine& engine() const { return engine_; }
  /// Upper bound of documents' static scores.
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
  /// A query's numbers except its places in the batch, and those of its terms except their lists.
  BatchQuery numbers_of(const WaitingQuery& waiting, std::size_t k, bool conjunctive,
                        std::span<BatchTerm> own_terms) const;
  void add(const WaitingQuery& waiting, const BatchQuery& numbers, std::span<const BatchTerm> own_terms);
  void add_list(const PostingList& list);
  /// Decodes a list to the raw arrays, at the place in its view.
  void decode_raw(const PostingList& list, const ListView& view);

  const QueryEngine& engine_;
  float max_static_score_ = 0;
  TermNumbers numbers_;
  std::vector<std::pair<const PostingList*, std::uint32_t>> new_raw_;  ///< lists to be decoded, and their numbers
  std::size_t raw_postings_ = 0;
};

}  // namespace quern::gpu
