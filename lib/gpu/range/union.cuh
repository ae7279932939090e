#pragma once
#include "quern/gpu/range/range_lookup.cuh"

/// The union of lists, range by range. A thread block keeps the sums of a range's documents in shared memory and
/// answers one query after another. Units of entries are added in any order, so no list waits for another.
namespace quern::gpu {

/// Entries that a warp adds at a time: four per lane.
inline constexpr std::uint32_t tile_entries = 4 * lanes_per_warp;

/// A list's entries in the range, aligned to whole tiles; in shared memory.
struct RangeList {
  const uint4* entries = nullptr;  ///< the start of its first tile
  std::uint32_t unit_weight = 0;
  std::uint32_t tiles_end = 0;  ///< tiles of this list and of the query's earlier lists
  std::uint32_t max_units = 0;  ///< upper bound of a posting's units
  std::uint16_t end = 0;        ///< after the range's last entry, counted from `entries`
  std::uint8_t skip : 4 = 0;    ///< entries of the first tile that belong to the previous range
  std::uint8_t driver : 4 = 0;  ///< 1: its documents are looked up in the other lists
  std::uint8_t unit_offset = 0;

  __device__ RangeEntries range_entries() const {
    return {reinterpret_cast<const std::uint32_t*>(entries) + skip, std::uint32_t{end} - skip, unit_weight, unit_offset,
            max_units};
  }
  /// Four entries, for this lane, of the tile that begins with entry `first`; zeros after the list's end.
  __device__ uint4 fetch(std::uint32_t first) const {
    return first + 4 * lane_id() < end ? __ldcg(entries + first / 4 + lane_id()) : uint4{};
  }
};

/// A query that may have results in a range.
struct RangeQuery {
  std::uint32_t number = 0;
  std::uint16_t first_list = 0, lists = 0;
  std::uint32_t min_term_units = 0;  ///< see RangeRequirement; not used for lookups
  std::uint32_t tasks = 0;           ///< for lookups: tiles_per_lookup_task tiles each
};

struct UnionShared {
  alignas(16) std::uint32_t sums[range_documents / 2];  ///< two documents per word: see SumPlace
  RangeList lists[max_set_terms];
  RangeQuery queries[max_set_queries];  ///< from the front, those answered by sums; from the end, by lookups
  union {
    std::uint16_t candidates[range_candidates];      ///< docIDs within the range whose sums reach the threshold
    std::uint32_t step_counts[threshold_steps / 2];  ///< of more documents: two counts per word
  };
  std::uint32_t num_queries, num_lookups, num_lists, num_candidates, next_query, next_lookup_task, work;
};

/// The half of a word that has a document's sum. A word has the sums of a document of the range's lower half and of one
/// of its upper half.
struct SumPlace {
  static constexpr std::uint32_t words = range_documents / 2;

  bool upper;

  __device__ static SumPlace of(std::uint32_t document) { return {document >= words}; }
  __device__ static std::uint32_t word_of(std::uint32_t document) { return document % words; }
  /// What to add to a word, from units times 2^16.
  __device__ std::uint32_t addend(std::uint32_t scaled_units) const {
    return __byte_perm(scaled_units, 0, upper ? 0x3244 : 0x4432);
  }
  /// The sum in a word, times 2^16.
  __device__ std::uint32_t scaled_sum_in(std::uint32_t word) const {
    return __byte_perm(word, 0, upper ? 0x3244 : 0x1044);
  }
  /// The word of an entry's document. For several entries of one half, the compiler needs one instruction for each.
  __device__ std::uint32_t* word_at(std::uint32_t* sums, std::uint32_t entry) const {
    static_assert(entry_document_shift == 16 + 2 && words * sizeof(std::uint32_t) == 0x8000);
    char* const half = reinterpret_cast<char*>(sums) - (upper ? 0x8000 : 0);
    return reinterpret_cast<std::uint32_t*>(half + (entry >> 16));
  }
};

/// The consecutive tiles of a query that a warp adds, of which the current one is already fetched.
struct OwnTiles {
  std::uint32_t list = 0;  ///< in UnionShared::lists
  std::uint32_t tile = 0;  ///< number within the list
  std::uint32_t left = 0;  ///< tiles left, including this one
  uint4 entries{};
};

/// A thread block of `threads` threads.
template <unsigned threads>
class UnionBlock {
 public:
  __device__ UnionBlock(const RangeView& batch, UnionShared& shared, Pruning pruning)
      : batch_(batch), shared_(shared), pruning_(pruning) {}

  __device__ void run() {
    clear_sums();
    const std::uint32_t all = batch_.ranges * batch_.num_query_sets;
    // The first item needs no queue. Taking the next one while this one is answered makes large batches slower.
    for (std::uint32_t work = blockIdx.x; work < all; work = shared_.work) {
      if (threadIdx.x == 0) {
        shared_.num_queries = shared_.num_lookups = shared_.num_lists = shared_.num_candidates = 0;
        shared_.next_query = shared_.next_lookup_task = 0;
      }
      __syncthreads();
      range_ = work / batch_.num_query_sets;
      begin_ = (batch_.first_range + range_) * range_documents;
      choose_queries(batch_.query_sets[work % batch_.num_query_sets]);
      __syncthreads();
      look_up();
      answer_queries();
      if (all <= gridDim.x) return;
      __syncthreads();
      if (threadIdx.x == 0) shared_.work = gridDim.x + atomicAdd(batch_.next_work, 1u);
      __syncthreads();
    }
  }

 private:
  static constexpr unsigned warps = threads / lanes_per_warp;
  __device__ static unsigned warp() { return threadIdx.x / lanes_per_warp; }

  __device__ void clear_sums() {
    auto* sums = reinterpret_cast<uint4*>(shared_.sums);
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < range_documents / 8; i += threads) sums[i] = make_uint4(0, 0, 0, 0);
  }
  __device__ std::uint32_t sum_of(std::uint32_t document) const {
    return SumPlace::of(document).scaled_sum_in(shared_.sums[SumPlace::word_of(document)]) >> 16;
  }

  // Chooses the queries of a set that may have results in the range, and answers by sums or lookups: a warp per query.

  __device__ void choose_queries(const QuerySet& set) {
    for (;;) {
      const std::uint32_t i = take_for_warp(&shared_.next_query, 1);
      if (i >= set.queries) return;
      const std::uint32_t number = set.first_query + i;
      const BatchQuery& query = batch_.queries[number];
      if (query.terms <= lanes_per_warp)
        choose(number, query);
      else
        choose_all(number, query);
    }
  }

  /// Aligns entries to whole tiles.
  __device__ static RangeList range_list_of(const RangeEntries& entries) {
    RangeList list;
    list.max_units = entries.max_units;
    list.unit_weight = entries.unit_weight;
    list.unit_offset = static_cast<std::uint8_t>(entries.unit_offset);
    // Reads are aligned to four entries.
    list.skip = static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(entries.data) / sizeof(std::uint32_t) % 4);
    list.entries = reinterpret_cast<const uint4*>(entries.data - list.skip);
    list.end = static_cast<std::uint16_t>(entries.count + list.skip);
    return list;
  }
  __device__ static std::uint32_t tiles_of(const RangeEntries& entries) {
    if (entries.count == 0) return 0;
    return (range_list_of(entries).end + tile_entries - 1) / tile_entries;
  }

  __device__ void choose(std::uint32_t number, const BatchQuery& query) {
    RangeEntries entries;
    if (lane_id() < query.terms) entries = entries_in_range(batch_, batch_.terms[query.first_term + lane_id()], range_);
    const unsigned there = __ballot_sync(all_lanes, entries.count > 0);
    if (there == 0) return;
    const RangeRequirement required = requirement_of(batch_, number, begin_);
    if (required.none) return;
    if (pruning_ == Pruning::none) return put_query(number, entries, there, required.min_term_units);
    if (warp_sum(entries.max_units) < required.min_term_units) return;
    // A list is essential unless it and all lists with lower bounds can't lift a document to the threshold.
    std::uint32_t bounds_sum = entries.max_units;
    for (unsigned left = there; left != 0; left &= left - 1) {
      const unsigned lane = __ffs(left) - 1;
      const std::uint32_t other = __shfl_sync(all_lanes, entries.max_units, lane);
      if (other < entries.max_units || (other == entries.max_units && lane < lane_id())) bounds_sum += other;
    }
    const bool essential = entries.count > 0 && bounds_sum >= required.min_term_units;
    // Lookups pay off for few documents.
    const std::uint32_t first = warp_sum(essential ? entries.count : 0), all = warp_sum(entries.count);
    if (first * (1 + (__popc(there) - 1) * lookup_cost) <= all + adding_cost)
      put_lookup(number, entries, there, essential);
    else
      put_query(number, entries, there, required.min_term_units);
  }

  __device__ void put_query(std::uint32_t number, const RangeEntries& entries, unsigned there,
                            std::uint32_t min_term_units) {
    const std::uint32_t count = __popc(there), first = reserve_lists(count);
    if (lane_id() == 0) put_query(number, first, count, min_term_units);
    put(entries, first, 0);
  }
  __device__ void put_query(std::uint32_t number, std::uint32_t first, std::uint32_t lists,
                            std::uint32_t min_term_units) {
    shared_.queries[atomicAdd(&shared_.num_queries, 1u)] = {number, static_cast<std::uint16_t>(first),
                                                            static_cast<std::uint16_t>(lists), min_term_units};
  }
  /// Adds a query to answer by looking up its drivers' documents.
  __device__ void put_lookup(std::uint32_t number, const RangeEntries& entries, unsigned there, bool driver) {
    const std::uint32_t count = __popc(there), first = reserve_lists(count);
    const std::uint32_t tiles = warp_sum(driver ? lookup_tiles_of(entries) : 0);
    if (lane_id() == 0)
      lookup(atomicAdd(&shared_.num_lookups, 1u)) = {number, static_cast<std::uint16_t>(first),
                                                     static_cast<std::uint16_t>(count), 0,
                                                     (tiles + tiles_per_lookup_task - 1) / tiles_per_lookup_task};
    put(entries, first, 0, driver);
  }
  /// Reserves places for a query's lists; returns the first.
  __device__ std::uint32_t reserve_lists(std::uint32_t count) { return take_for_warp(&shared_.num_lists, count); }

  /// Stores the lanes' lists from place `first` on. The query has `end` tiles so far; returns the new number.
  __device__ std::uint32_t put(const RangeEntries& entries, std::uint32_t first, std::uint32_t end,
                               bool driver = false) {
    const std::uint32_t tiles = tiles_of(entries);
    RangeList list = range_list_of(entries);
    list.driver = driver;
    list.tiles_end = end + inclusive_sum(tiles);
    const unsigned before = __ballot_sync(all_lanes, tiles > 0) & ((1u << lane_id()) - 1);
    if (tiles > 0) shared_.lists[first + __popc(before)] = list;
    return last_lane(list.tiles_end);
  }

  /// choose() for queries with more terms than a warp has lanes, which are answered by sums.
  __device__ void choose_all(std::uint32_t number, const BatchQuery& query) {
    const RangeRequirement required = requirement_of(batch_, number, begin_);
    if (required.none) return;
    const std::uint32_t first = reserve_lists(query.terms);
    std::uint32_t count = 0, end = 0, sum = 0;
    for (unsigned base = 0; base < query.terms; base += lanes_per_warp) {
      RangeEntries entries;
      if (base + lane_id() < query.terms)
        entries = entries_in_range(batch_, batch_.terms[query.first_term + base + lane_id()], range_);
      end = put(entries, first + count, end);
      count += __popc(__ballot_sync(all_lanes, entries.count > 0));
      sum += warp_sum(entries.max_units);
    }
    if (count > 0 && lane_id() == 0 && (pruning_ == Pruning::none || sum >= required.min_term_units))
      put_query(number, first, count, required.min_term_units);
  }

  // Lookups, by any warp that is free.

  __device__ RangeQuery& lookup(std::uint32_t i) { return shared_.queries[max_set_queries - 1 - i]; }

  __device__ void look_up() {
    const std::uint32_t lookups = shared_.num_lookups;
    if (lookups == 0) return;
    const std::uint32_t tasks_end = inclusive_sum(lane_id() < lookups ? lookup(lane_id()).tasks : 0);
    const std::uint32_t all = last_lane(tasks_end);
    for (;;) {
      const std::uint32_t task = take_for_warp(&shared_.next_lookup_task, 1);
      if (task >= all) return;
      const unsigned number = __popc(__ballot_sync(all_lanes, tasks_end <= task));
      const std::uint32_t before = __shfl_sync(all_lanes, tasks_end, number) - lookup(number).tasks;
      look_up_tiles(lookup(number), task - before);
    }
  }

  // Not inlined, to leave registers to the additions.
  __noinline__ __device__ void look_up_tiles(const RangeQuery& query, std::uint32_t task) {
    RangeEntries entries;
    bool driver = false;
    if (lane_id() < query.lists) {
      const RangeList& list = shared_.lists[query.first_list + lane_id()];
      entries = list.range_entries();
      driver = list.driver;
    }
    RangeLookup lookup(batch_, query.number, range_, entries, all_lanes >> (lanes_per_warp - query.lists));
    lookup.unite(__ballot_sync(all_lanes, driver), task * tiles_per_lookup_task, tiles_per_lookup_task);
  }

  // Sums: one query after another, by all warps.

  __device__ void answer_queries() {
    if (shared_.num_queries == 0) return;
    OwnTiles own = own_tiles(shared_.queries[0]);
    for (std::uint32_t i = 0; i < shared_.num_queries; ++i) {
      const RangeQuery& query = shared_.queries[i];
      // With more documents than are noted, all sums are read.
      while (own.left > 0) add_list(own, shared_.num_candidates > range_candidates ? max_units : query.min_term_units);
      // Fetch the next query's first tiles while this query's sums are read and cleared.
      if (i + 1 < shared_.num_queries) own = own_tiles(shared_.queries[i + 1]);
      __syncthreads();
      const std::uint32_t found = shared_.num_candidates;
      if (found > 0) {
        collect(query, found);
        if (threadIdx.x == 0) shared_.num_candidates = 0;
      }
      clear_sums();
      __syncthreads();
    }
  }

  __device__ OwnTiles own_tiles(const RangeQuery& query) const {
    const RangeList* lists = shared_.lists + query.first_list;
    const std::uint32_t all = lists[query.lists - 1].tiles_end;
    const std::uint32_t begin = all * warp() / warps;
    OwnTiles own;
    own.left = all * (warp() + 1) / warps - begin;
    if (own.left == 0) return own;
    unsigned number = 0;
    for (unsigned base = 0; base < query.lists; base += lanes_per_warp)
      number += __popc(
          __ballot_sync(all_lanes, base + lane_id() < query.lists && lists[base + lane_id()].tiles_end <= begin));
    own.list = query.first_list + number;
    own.tile = begin - (number == 0 ? 0 : lists[number - 1].tiles_end);
    own.entries = shared_.lists[own.list].fetch(own.tile * tile_entries);
    return own;
  }

  /// Adds this warp's tiles of a list, and fetches the first one of its next list.
  __device__ void add_list(OwnTiles& own, std::uint32_t min_term_units) {
    const RangeList list = shared_.lists[own.list];
    std::uint32_t first = own.tile * tile_entries;
    const uint4* next = list.entries + first / 4 + lane_id();
    const std::uint32_t tiles = min(own.left, (list.end - first + tile_entries - 1) / tile_entries);
    own.left -= tiles;
    // Tiles of which all entries are the list's.
    const std::uint32_t begin_whole = list.skip > 0 ? tile_entries : 0,
                        end_whole = max(list.end / tile_entries * tile_entries, begin_whole);
    for (std::uint32_t left = tiles; left > 0; --left, first += tile_entries) {
      const uint4 four = own.entries;
      next += lanes_per_warp;
      own.entries = uint4{};
      if (left > 1) {
        if (first + tile_entries + 4 * lane_id() < list.end) own.entries = __ldcg(next);
      } else if (own.left > 0) {
        own.tile = 0;
        own.entries = shared_.lists[++own.list].fetch(0);
      }
      // The top bit of an entry tells its half.
      const bool same_half = static_cast<int>((four.x ^ four.y) | (four.x ^ four.z) | (four.x ^ four.w)) >= 0;
      if (first - begin_whole < end_whole - begin_whole && same_half)
        add<true>(list, four, 0, min_term_units);
      else
        add<false>(list, four, first + 4 * lane_id(), min_term_units);
    }
  }

  /// Adds four entries to the sums, and notes documents whose sums reach `min_term_units`. `plain`: all are the list's,
  /// and their documents are in one half of the range. Otherwise, leaves out entries before the list's first and after
  /// its last; `first`: the number of the first of the four.
  template <bool plain>
  __device__ void add(const RangeList& list, const uint4& four, std::uint32_t first, std::uint32_t min_term_units) {
    const std::uint32_t entries[4] = {four.x, four.y, four.z, four.w};
    const SumPlace place_of_first = SumPlace::of(document_of(four.x));
    const std::uint32_t min_scaled = min_term_units << 16;
    std::uint32_t before[4] = {}, scaled[4] = {};
    std::uint32_t greatest = 0;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
      if (!plain && (first + i < list.skip || first + i >= list.end)) continue;
      const SumPlace place = plain ? place_of_first : SumPlace::of(document_of(entries[i]));
      scaled[i] = scaled_units_of(entries[i], list.unit_weight, list.unit_offset);
      before[i] = place.scaled_sum_in(atomicAdd(place.word_at(shared_.sums, entries[i]), place.addend(scaled[i])));
      greatest = max(greatest, before[i] + scaled[i]);
    }
    if (greatest < min_scaled) return;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i)
      if (before[i] < min_scaled && before[i] + scaled[i] >= min_scaled) note(document_of(entries[i]));
  }

  __device__ void note(std::uint32_t document) {
    const std::uint32_t slot = atomicAdd(&shared_.num_candidates, 1u);
    if (slot < range_candidates) shared_.candidates[slot] = static_cast<std::uint16_t>(document);
  }

  // Collecting, by all warps: documents whose sums reach the threshold become candidates.

  /// Counts the noted documents, raises the threshold, and makes those that still reach it candidates. Few documents
  /// become candidates at once, so that no thread waits for the threshold.
  __device__ void collect(const RangeQuery& query, std::uint32_t noted) {
    const BatchQuery& batch_query = batch_.queries[query.number];
    const bool at_once = noted <= uncounted_candidates;
    const auto store = [&](std::uint32_t docid, std::uint32_t units) {
      store_candidate(batch_, query.number, Candidate{units} << 32 | docid);
    };
    if (noted > range_candidates)
      count_many(batch_query, query, noted);
    else
      for_noted(batch_query, query, noted, [&](std::uint32_t docid, std::uint32_t units) {
        count_document(batch_, batch_query, query.number, docid, units);
        if (at_once) store(docid, units);
      });
    __threadfence();
    __syncthreads();
    if (warp() == 0) raise_threshold(batch_, batch_query, query.number);
    if (at_once) return;
    __syncthreads();
    for_noted(batch_query, query, noted, store);
    __syncthreads();
  }

  /// Counts many noted documents: first the best of each thread, after which the threshold rules out most others.
  __device__ void count_many(const BatchQuery& batch_query, const RangeQuery& query, std::uint32_t noted) {
    std::uint32_t best = 0, most_units = 0;
    for_noted(batch_query, query, noted, [&](std::uint32_t docid, std::uint32_t units) {
      if (units > most_units) best = docid, most_units = units;
    });
    count_together(batch_query, query.number, [&](const auto& count) {
      if (most_units > 0) count(best, most_units);
    });
    __threadfence();
    __syncthreads();
    if (warp() == 0) raise_threshold(batch_, batch_query, query.number);
    count_together(batch_query, query.number, [&](const auto& count) {
      for_noted(batch_query, query, noted, [&](std::uint32_t docid, std::uint32_t units) {
        if (docid != best) count(docid, units);
      });
    });
  }

  /// Calls visit(count), where count(docID, units) counts a document here. Adds up the numbers before it adds them to
  /// the query's: while the threshold is low, all thread blocks find many documents at the same time.
  template <class Visit>
  __device__ void count_together(const BatchQuery& batch_query, std::uint32_t number, Visit&& visit) {
    for (unsigned i = threadIdx.x; i < threshold_steps / 2; i += threads) shared_.step_counts[i] = 0;
    __syncthreads();
    std::uint32_t max_docid = 0;
    visit([&](std::uint32_t docid, std::uint32_t units) {
      const std::uint32_t step = step_of(batch_query, units);
      if (step == threshold_steps) return;
      max_docid = max(max_docid, docid);
      atomicAdd(shared_.step_counts + step / 2, 1u << step % 2 * 16);
    });
    max_docid = warp_max(max_docid);
    if (lane_id() == 0) raise_max_docid(batch_, number, max_docid);
    __syncthreads();
    for (unsigned step = threadIdx.x; step < threshold_steps; step += threads)
      if (const std::uint32_t count = shared_.step_counts[step / 2] >> step % 2 * 16 & 0xffff)
        add_to_step(batch_, number, step, count);
  }

  /// Calls visit(docID, units) for noted documents that reach the threshold; in a thread, always the same ones.
  template <class Visit>
  __device__ void for_noted(const BatchQuery& batch_query, const RangeQuery& query, std::uint32_t noted,
                            Visit&& visit) const {
    const QueryThreshold threshold = load_threshold(batch_, query.number);
    if (noted <= range_candidates) {
      for (std::uint32_t i = threadIdx.x; i < noted; i += threads) {
        const std::uint32_t document = shared_.candidates[i];
        visit_if_above(batch_query, document, sum_of(document), threshold, visit);
      }
      return;
    }
    // The threshold may have risen since the range was chosen.
    const std::uint32_t least =
        batch_.static_scores == nullptr ? max(query.min_term_units, threshold.units) : query.min_term_units;
    for (std::uint32_t i = threadIdx.x; i < SumPlace::words; i += threads) {
      const std::uint32_t word = shared_.sums[i];
      if ((word & 0xffff) >= least) visit_if_above(batch_query, i, word & 0xffff, threshold, visit);
      if (word >> 16 >= least) visit_if_above(batch_query, i + SumPlace::words, word >> 16, threshold, visit);
    }
  }

  template <class Visit>
  __device__ void visit_if_above(const BatchQuery& query, std::uint32_t document, std::uint32_t sum,
                                 const QueryThreshold& threshold, Visit& visit) const {
    const std::uint32_t docid = begin_ + document;
    const std::uint32_t units = sum + static_score_units(batch_, query, docid);
    if (units >= max(1u, min_units(threshold, docid)) && batch_.passes(docid)) visit(docid, units);
  }

  const RangeView& batch_;
  UnionShared& shared_;
  Pruning pruning_;
  std::uint32_t range_ = 0, begin_ = 0;  ///< the range's number in the window, and its first docID
};

}  // namespace quern::gpu
