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
  /// This lane's entries of a tile.
  __device__ uint4 fetch(std::uint32_t tile) const {
    return tile * tile_entries + lane_id() * 4 < end ? entries[tile * lanes_per_warp + lane_id()] : uint4{};
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
  RangeQuery queries[max_set_queries];         ///< from the front, those answered by sums; from the end, by lookups
  std::uint16_t candidates[range_candidates];  ///< docIDs within the range whose sums reach the threshold
  std::uint32_t num_queries, num_lookups, num_lists, num_candidates, next_query, next_lookup_task, work;
};

/// The place of a document's sum. A word has the sums of a document of the lower half and one of the upper half.
struct SumPlace {
  static constexpr std::uint32_t words = range_documents / 2;

  std::uint32_t word, shift;

  __device__ explicit SumPlace(std::uint32_t document) : word(document % words), shift(document < words ? 0 : 16) {}
  __device__ static std::uint32_t sum_in(std::uint32_t word, std::uint32_t shift) { return word >> shift & 0xffff; }
};

/// The consecutive tiles of a query that a warp adds, of which the current one is already fetched.
struct OwnTiles {
  const RangeList* list = nullptr;
  std::uint32_t tile = 0;  ///< number within the list
  std::uint32_t left = 0;  ///< tiles left, including this one
  uint4 entries{};

  __device__ void next() {
    --left;
    ++tile;
    if (tile * tile_entries >= list->end) ++list, tile = 0;
    if (left > 0) entries = list->fetch(tile);
  }
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
    const SumPlace place(document);
    return SumPlace::sum_in(shared_.sums[place.word], place.shift);
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
      for (; own.left > 0;) {
        const RangeList& list = *own.list;
        const std::uint32_t tile = own.tile;
        const uint4 entries = own.entries;
        own.next();
        add_tile(list, tile, entries, query.min_term_units);
      }
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
    own.list = lists + number;
    own.tile = begin - (number == 0 ? 0 : lists[number - 1].tiles_end);
    own.entries = own.list->fetch(own.tile);
    return own;
  }

  /// Adds the entries of a tile to the sums, and notes documents whose sums reach `min_term_units`.
  __device__ void add_tile(const RangeList& list, std::uint32_t tile, const uint4& entries,
                           std::uint32_t min_term_units) {
    const std::uint32_t first = tile * tile_entries + lane_id() * 4, end = list.end;
    const std::uint32_t weight = list.unit_weight, offset = list.unit_offset;
    if (first >= 4 && first + 4 <= end) {
      add(entries.x, weight, offset, min_term_units);
      add(entries.y, weight, offset, min_term_units);
      add(entries.z, weight, offset, min_term_units);
      add(entries.w, weight, offset, min_term_units);
    } else {
      const std::uint32_t skip = list.skip;
      if (first >= skip && first < end) add(entries.x, weight, offset, min_term_units);
      if (first + 1 >= skip && first + 1 < end) add(entries.y, weight, offset, min_term_units);
      if (first + 2 >= skip && first + 2 < end) add(entries.z, weight, offset, min_term_units);
      if (first + 3 >= skip && first + 3 < end) add(entries.w, weight, offset, min_term_units);
    }
  }

  __device__ void add(std::uint32_t entry, std::uint32_t weight, std::uint32_t offset, std::uint32_t min_term_units) {
    const std::uint32_t document = entry >> 16, units = units_of(entry, weight, offset);
    const SumPlace place(document);
    const std::uint32_t before =
        SumPlace::sum_in(atomicAdd(&shared_.sums[place.word], units << place.shift), place.shift);
    // before < min_term_units <= before + units
    if (min_term_units - 1 - before < units) note(document);
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
    for (std::uint32_t i = threadIdx.x; i < SumPlace::words; i += threads) {
      const std::uint32_t word = shared_.sums[i];
      if ((word & 0xffff) >= query.min_term_units) visit_if_above(batch_query, i, word & 0xffff, threshold, visit);
      if (word >> 16 >= query.min_term_units)
        visit_if_above(batch_query, i + SumPlace::words, word >> 16, threshold, visit);
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
