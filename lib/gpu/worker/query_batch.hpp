#pragma once
#include "quern/gpu/worker/fronts.hpp"

/// A batch of ranked queries, as kernels take it. Scoring has two steps. First, each document gets an upper bound of
/// its score in *units*: small integers, which can be added in any order and whose sums fit 16 bits. Then the few
/// documents whose sums reach the query's threshold are scored exactly. A query's *scale* is the units of a score of 1.
namespace quern::gpu {

/// The postings that a union may skip.
enum class Pruning : std::uint8_t {
  none,    ///< none
  lists,   ///< postings ruled out by upper bounds of whole lists (WAND)
  blocks,  ///< postings ruled out by upper bounds of ranges or blocks (block-max WAND)
};

/// How to answer a batch.
struct BatchWork {
  bool intersect = false;           ///< find documents with all terms instead of any
  Pruning pruning = Pruning::none;  ///< of unions
  std::size_t k = 10;
  const DocumentSet* passing = nullptr;  ///< documents that may be results; null: all
  std::uint64_t passing_number = 0;      ///< of that set, not 0, by which a GPU knows that it has the set
};

/// A posting's value has 16 bits: its impact in steps of 1 / 65535, rounded up, or its quantized impact.
inline constexpr std::uint32_t value_steps = 65535;
/// Maximum sum of units.
inline constexpr std::uint32_t max_units = 65535;
/// Maximum terms of a query; the CPU answers queries with more.
inline constexpr std::size_t max_terms = 64;
/// Number of steps in which a query's threshold rises.
inline constexpr std::uint32_t threshold_steps = 256;

/// A posting as an entry: the document's number in its range in the upper 14 bits, the value in the lower 16. The two
/// bits between are zeros, so that unions find the place of a sum by one shift.
inline constexpr unsigned entry_document_shift = 18;
static_assert(range_documents <= std::uint32_t{1} << (32 - entry_document_shift));

constexpr std::uint32_t entry_of(std::uint32_t document, std::uint32_t value) {
  return document << entry_document_shift | value;
}
constexpr std::uint32_t document_of(std::uint32_t entry) { return entry >> entry_document_shift; }
/// No entry of the document is above this, and none of the next one below.
constexpr std::uint32_t greatest_entry_of(std::uint32_t document) {
  return document << entry_document_shift | ((1u << entry_document_shift) - 1);
}

/// Units of an entry, times 2^16. See BatchTerm::unit_weight and unit_offset. Fits 32 bits, as sums of units fit 16.
constexpr std::uint32_t scaled_units_of(std::uint32_t entry, std::uint32_t weight, std::uint32_t offset) {
  return (entry & 0xffff) * weight + (offset << 16);
}
constexpr std::uint32_t units_of(std::uint32_t entry, std::uint32_t weight, std::uint32_t offset) {
  return scaled_units_of(entry, weight, offset) >> 16;
}

/// Units of a score or term score, rounded up, at the query's scale.
constexpr std::uint32_t units_of_score(float scale, float score) {
  const float exact = score * scale * (1 + 0x1p-20f);
  const auto units = static_cast<std::uint32_t>(exact);
  return units + (static_cast<float>(units) < exact);
}

struct BatchTerm {
  std::uint32_t list = 0;         ///< its number in the batch; before, the term
  float weight = 0;               ///< w_t, or n_t for quantized scores
  std::uint32_t unit_weight = 0;  ///< units per value, times 2^16: see units_of()
  std::uint32_t unit_offset = 0;  ///< 1 if units are rounded up, else 0
  std::uint32_t max_units = 0;    ///< upper bound of a posting's units
  float max_term_score = 0;       ///< upper bound of the list's term scores
  float impact_steps = 0;         ///< a quantized impact is at most max(1, impact_steps * impact + 1/2)
};

struct BatchQuery {
  std::uint32_t first_term = 0, terms = 0;
  std::uint32_t min_units = 1;   ///< minimum units of a result: the primed threshold
  std::uint32_t step_shift = 0;  ///< a step of the threshold is 2^step_shift units
  float scale = 1;               ///< units of a score of 1
  float lower_factor = 1;        ///< the score of a sum of u units is at least u * lower_factor - lower_margin units
  std::uint32_t lower_margin = 0;
  std::uint32_t exact_units = 0;  ///< 1 if sums of units are the scores, else 0
  std::uint32_t first_task = 0;   ///< for intersections: blocks of the previous queries' shortest lists
};

struct UnbatchedQuery {
  std::span<const WeightedList> lists;  ///< at most max_terms
  std::uint32_t min_units = 0;          ///< minimum units of a result, if known from an earlier run
};

/// Numbers terms in the order of first occurrence. An open-addressing hash table, faster than std::unordered_map, since
/// one thread numbers all terms of a batch.
class TermNumbers {
 public:
  /// The term's number, and whether it is new.
  std::pair<std::uint32_t, bool> number_of(term_t term) {
    if (2 * count_ >= slots_.size()) grow();
    Slot& slot = slot_of(term);
    if (is_used(slot)) return {slot.number, false};
    slot = {term, count_, generation_};
    return {count_++, true};
  }
  /// Forgets all terms in constant time, but keeps the memory.
  void clear() {
    ++generation_;
    count_ = 0;
  }

 private:
  struct Slot {
    term_t term = 0;
    std::uint32_t number = 0;
    std::uint64_t generation = 0;  ///< in which the slot was last used
  };

  bool is_used(const Slot& slot) const { return slot.generation == generation_; }
  Slot& slot_of(term_t term) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = (term * 0x9e3779b97f4a7c15) >> 32 & mask;
    while (is_used(slots_[place]) && slots_[place].term != term) place = (place + 1) & mask;
    return slots_[place];
  }
  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(64, 4 * slots_.size()));
    old.swap(slots_);
    for (const Slot& slot : old)
      if (is_used(slot)) slot_of(slot.term) = slot;
  }

  std::vector<Slot> slots_;  ///< a power of two, or empty
  std::uint32_t count_ = 0;
  std::uint64_t generation_ = 1;  ///< clear() starts a new one
};

/// A batch in host memory.
class QueryBatch {
 public:
  explicit QueryBatch(const QueryEngine& engine) : engine_(engine) {
    for (const float bound : engine.scoring_context().static_score_bounds)
      max_static_score_ = std::max(max_static_score_, bound);
  }
  /// A batch that reads only fronts of lists, if the cache lacks the rest. Only for documents with all terms.
  QueryBatch(const QueryEngine& engine, const ListCache& cache) : QueryBatch(engine) { fronts_.emplace(cache); }

  /// Removes all queries, but keeps the memory. `cache`: see the constructor.
  void clear(const ListCache* cache = nullptr);
  /// Adds queries, in order, until `fits` returns false, and returns their number. Primes thresholds for the work's k,
  /// unless a filter leaves open how many of a list's best documents pass. Prepares queries in parallel. `fits` may see
  /// the batch with all queries first, and then smaller ones.
  std::size_t add(
      std::span<const UnbatchedQuery> waiting, const BatchWork& work,
      const std::function<bool()>& fits = [] { return true; });
  const QueryEngine& engine() const { return engine_; }
  /// Upper bound of the blocks of each list that queries for documents with all terms read: all of a query's shortest
  /// list, and of others as many as that has documents.
  std::vector<std::uint64_t> blocks_for_intersections() const;
  /// Null if the batch reads whole lists.
  const BatchFronts* fronts() const { return fronts_ ? &*fronts_ : nullptr; }
  /// The lists to copy or decode.
  BatchLists batch_lists() const { return {lists, coded}; }
  /// Upper bound of documents' static scores.
  float max_static_score() const { return max_static_score_; }

  std::vector<ListView> lists;
  /// Lists in blocks: numbers in `lists`, and the lists as the batch reads them.
  std::vector<std::pair<std::uint32_t, const PostingList*>> coded;
  EntryPlaces entries_of;  ///< places of lists decoded as a whole; set by the batch's owner
  std::vector<BatchTerm> terms;
  std::vector<BatchQuery> queries;
  std::vector<std::uint32_t> raw_docids, raw_values;  ///< postings of raw lists: docIDs; frequencies or impacts
  std::uint32_t tasks = 0;                            ///< for intersections: blocks in all queries' shortest lists
  std::uint64_t entries = 0;                          ///< space for all lists' entries: see entry_words()
  std::uint64_t postings = 0;                         ///< in the lists of all queries

 private:
  /// Prepared queries that are not in the batch yet. Contiguous, since many threads write and one reads them.
  struct Made {
    std::vector<BatchQuery> queries;
    std::vector<std::size_t> first_terms;  ///< then the number of terms
    std::vector<BatchTerm> terms;
    std::vector<ListView> views;

    std::span<BatchTerm> terms_of(std::size_t i) { return elements_of(i, terms); }
    std::span<ListView> views_of(std::size_t i) { return elements_of(i, views); }

   private:
    template <class T>
    std::span<T> elements_of(std::size_t i, std::vector<T>& all) {
      return std::span(all).subspan(first_terms[i], first_terms[i + 1] - first_terms[i]);
    }
  };

  void make_queries(std::span<const UnbatchedQuery> waiting, const BatchWork& work);
  /// Computes a query and its terms, except for places in the batch and numbers of lists.
  BatchQuery make_query(const UnbatchedQuery& waiting, const BatchWork& work, std::span<BatchTerm> own_terms) const;
  /// Adds a query, which make_queries() prepared as number `own`.
  void add(const UnbatchedQuery& waiting, std::size_t own);
  /// The view of a whole list; a raw one has no place yet.
  ListView view_of(const PostingList& list) const;
  void add_list(const PostingList& list, ListView view);
  /// Decodes a list to the raw arrays, at its view's first_word.
  void decode_raw(const PostingList& list, const ListView& view);

  const QueryEngine& engine_;
  float max_static_score_ = 0;
  Made made_;
  TermNumbers numbers_;
  std::optional<BatchFronts> fronts_;
  std::vector<std::pair<const PostingList*, std::uint32_t>> new_raw_;  ///< raw lists yet to decode, and their numbers
  std::size_t raw_postings_ = 0;
};

}  // namespace quern::gpu
