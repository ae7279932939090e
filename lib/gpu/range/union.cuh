#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/range/range_lookup.cuh"

/// The union of lists, one range of docIDs after another. A thread block keeps the sums of a range's documents in
/// shared memory and answers one query after another. Entries are added in any order, in units, so that no list waits
/// for another.
namespace quern::gpu {

/// Entries that a warp adds at a time: four per lane.
inline constexpr std::uint32_t tile_entries = 4 * lanes_per_warp;

/// A ListSlice in shared memory, aligned to whole tiles.
struct Piece {
  const uint4* entries = nullptr;  ///< the start of its first tile
  std::uint32_t unit_weight = 0;
  std::uint32_t tiles_end = 0;  ///< tiles of this piece and of the query's pieces before it
  std::uint32_t max_units = 0;  ///< upper bound of a posting's units
  std::uint16_t end = 0;        ///< after the range's last entry, counted from `entries`
  std::uint8_t skip : 4 = 0;    ///< entries of the first tile that belong to the previous range
  std::uint8_t driver : 4 = 0;  ///< 1: its documents are looked up in the query's other lists
  std::uint8_t unit_offset = 0;

  __device__ ListSlice slice() const {
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
  std::uint16_t first_piece = 0, pieces = 0;
  std::uint32_t min_term_units = 0;  ///< see RangeRequirement; not used for lookups
  std::uint32_t tasks = 0;           ///< for lookups: tiles_per_lookup_task tiles each
};

/// A thread block's shared memory.
struct UnionShared {
  alignas(16) std::uint32_t sums[range_documents / 2];  ///< two documents per word: see SumPlace
  Piece pieces[chunk_terms];
  RangeQuery queries[chunk_queries];  ///< those answered by sums; from the end backwards, those answered by lookups
  std::uint16_t candidates[range_candidates];  ///< docIDs within the range whose sums reach the threshold
  std::uint32_t num_queries, num_lookups, num_pieces, num_candidates, next_query, next_lookup_task, work;
};

/// Where the sum of a document is among a thread block's sums: a word has a document of the range's lower half and one
/// of its upper half.
struct SumPlace {
  static constexpr std::uint32_t words = range_documents / 2;

  std::uint32_t word, shift;

  __device__ explicit SumPlace(std::uint32_t document) : word(document % words), shift(document < words ? 0 : 16) {}
  __device__ static std::uint32_t sum_in(std::uint32_t word, std::uint32_t shift) { return word >> shift & 0xffff; }
};

/// A warp's share of a query's tiles: consecutive ones, the first of them fetched already.
struct TileRun {
  const Piece* piece = nullptr;
  std::uint32_t tile = 0;  ///< number within the piece
  std::uint32_t left = 0;  ///< tiles left, including this one
  uint4 entries{};

  /// Fetches the next tile if there is one.
  __device__ void next() {
    --left;
    ++tile;
    if (tile * tile_entries >= piece->end) ++piece, tile = 0;
    if (left > 0) entries = piece->fetch(tile);
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
    const std::uint32_t all = batch_.ranges * batch_.num_chunks;
    for (;;) {
      __syncthreads();
      if (threadIdx.x == 0) {
        shared_.work = atomicAdd(batch_.next_work, 1u);
        shared_.num_queries = shared_.num_lookups = shared_.num_pieces = shared_.num_candidates = 0;
        shared_.next_query = shared_.next_lookup_task = 0;
      }
      __syncthreads();
      const std::uint32_t work = shared_.work;
      if (work >= all) return;
      range_ = work / batch_.num_chunks;
      begin_ = (batch_.first_range + range_) * range_documents;
      choose_queries(batch_.chunks[work % batch_.num_chunks]);
      __syncthreads();
      look_up();
      answer_queries();
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

  // Chooses the queries of a chunk that may have results in the range, and whether by sums or lookups: a warp per
  // query.

  __device__ void choose_queries(const BatchChunk& chunk) {
    for (;;) {
      std::uint32_t i = 0;
      if (lane_id() == 0) i = atomicAdd(&shared_.next_query, 1u);
      i = __shfl_sync(all_lanes, i, 0);
      if (i >= chunk.queries) return;
      const std::uint32_t number = chunk.first_query + i;
      const BatchQuery& query = batch_.queries[number];
      if (query.terms <= lanes_per_warp)
        choose(number, query);
      else
        choose_all(number, query);
    }
  }

  /// The aligned piece of a slice.
  __device__ static Piece piece_of(const ListSlice& slice) {
    Piece piece;
    piece.max_units = slice.max_units;
    piece.unit_weight = slice.unit_weight;
    piece.unit_offset = static_cast<std::uint8_t>(slice.unit_offset);
    // Reads are of four entries, aligned.
    piece.skip = static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(slice.entries) / sizeof(std::uint32_t) % 4);
    piece.entries = reinterpret_cast<const uint4*>(slice.entries - piece.skip);
    piece.end = static_cast<std::uint16_t>(slice.count + piece.skip);
    return piece;
  }
  __device__ static std::uint32_t tiles_of(const ListSlice& slice) {
    if (slice.count == 0) return 0;
    return (piece_of(slice).end + tile_entries - 1) / tile_entries;
  }

  __device__ void choose(std::uint32_t number, const BatchQuery& query) {
    ListSlice slice;
    if (lane_id() < query.terms) slice = slice_of(batch_, batch_.terms[query.first_term + lane_id()], range_);
    const unsigned there = __ballot_sync(all_lanes, slice.count > 0);
    if (there == 0) return;
    const RangeRequirement required = requirement_of(batch_, number, begin_);
    if (required.none) return;
    if (pruning_ == Pruning::none) return put_query(number, slice, there, required.min_term_units);
    if (warp_sum(slice.max_units) < required.min_term_units) return;
    // A list is essential unless it and those with lower upper bounds can't lift a document to the threshold together.
    std::uint32_t bounds_sum = slice.max_units;
    for (unsigned left = there; left != 0; left &= left - 1) {
      const unsigned lane = __ffs(left) - 1;
      const std::uint32_t other = __shfl_sync(all_lanes, slice.max_units, lane);
      if (other < slice.max_units || (other == slice.max_units && lane < lane_id())) bounds_sum += other;
    }
    const bool essential = slice.count > 0 && bounds_sum >= required.min_term_units;
    // Lookups pay off if there are few documents.
    const std::uint32_t first = warp_sum(essential ? slice.count : 0), all = warp_sum(slice.count);
    if (first * (1 + (__popc(there) - 1) * lookup_cost) <= all + adding_cost)
      put_lookup(number, slice, there, essential);
    else
      put_query(number, slice, there, required.min_term_units);
  }

  /// Adds a query that is answered by sums.
  __device__ void put_query(std::uint32_t number, const ListSlice& slice, unsigned there,
                            std::uint32_t min_term_units) {
    const std::uint32_t count = __popc(there), first = pieces_for(count);
    if (lane_id() == 0) put_query(number, first, count, min_term_units);
    put(slice, first, 0);
  }
  __device__ void put_query(std::uint32_t number, std::uint32_t first, std::uint32_t pieces,
                            std::uint32_t min_term_units) {
    shared_.queries[atomicAdd(&shared_.num_queries, 1u)] = {number, static_cast<std::uint16_t>(first),
                                                            static_cast<std::uint16_t>(pieces), min_term_units};
  }
  /// Adds a query that is answered by lookups of its drivers' documents.
  __device__ void put_lookup(std::uint32_t number, const ListSlice& slice, unsigned there, bool driver) {
    const std::uint32_t count = __popc(there), first = pieces_for(count);
    const std::uint32_t tiles = warp_sum(driver ? lookup_tiles_of(slice) : 0);
    if (lane_id() == 0)
      lookup(atomicAdd(&shared_.num_lookups, 1u)) = {number, static_cast<std::uint16_t>(first),
                                                     static_cast<std::uint16_t>(count), 0,
                                                     (tiles + tiles_per_lookup_task - 1) / tiles_per_lookup_task};
    put(slice, first, 0, driver);
  }
  /// Reserves places for a query's pieces; returns the first.
  __device__ std::uint32_t pieces_for(std::uint32_t count) {
    std::uint32_t first = 0;
    if (lane_id() == 0) first = atomicAdd(&shared_.num_pieces, count);
    return __shfl_sync(all_lanes, first, 0);
  }

  /// Stores the lanes' pieces from place `first` on. The query has `end` tiles so far; returns how many it has then.
  __device__ std::uint32_t put(const ListSlice& slice, std::uint32_t first, std::uint32_t end, bool driver = false) {
    const std::uint32_t tiles = tiles_of(slice);
    Piece piece = piece_of(slice);
    piece.driver = driver;
    piece.tiles_end = end + inclusive_sum(tiles);
    const unsigned before = __ballot_sync(all_lanes, tiles > 0) & ((1u << lane_id()) - 1);
    if (tiles > 0) shared_.pieces[first + __popc(before)] = piece;
    return last_lane(piece.tiles_end);
  }

  /// choose() for queries with more terms than a warp has lanes; these are answered by sums.
  __device__ void choose_all(std::uint32_t number, const BatchQuery& query) {
    const RangeRequirement required = requirement_of(batch_, number, begin_);
    if (required.none) return;
    const std::uint32_t first = pieces_for(query.terms);
    std::uint32_t count = 0, end = 0, sum = 0;
    for (unsigned base = 0; base < query.terms; base += lanes_per_warp) {
      ListSlice slice;
      if (base + lane_id() < query.terms)
        slice = slice_of(batch_, batch_.terms[query.first_term + base + lane_id()], range_);
      end = put(slice, first + count, end);
      count += __popc(__ballot_sync(all_lanes, slice.count > 0));
      sum += warp_sum(slice.max_units);
    }
    if (count > 0 && lane_id() == 0 && (pruning_ == Pruning::none || sum >= required.min_term_units))
      put_query(number, first, count, required.min_term_units);
  }

  // Lookups, by any warp that is free.

  __device__ RangeQuery& lookup(std::uint32_t i) { return shared_.queries[chunk_queries - 1 - i]; }

  __device__ void look_up() {
    const std::uint32_t lookups = shared_.num_lookups;
    if (lookups == 0) return;
    const std::uint32_t tasks_end = inclusive_sum(lane_id() < lookups ? lookup(lane_id()).tasks : 0);
    const std::uint32_t all = last_lane(tasks_end);
    for (;;) {
      std::uint32_t task = 0;
      if (lane_id() == 0) task = atomicAdd(&shared_.next_lookup_task, 1u);
      task = __shfl_sync(all_lanes, task, 0);
      if (task >= all) return;
      const unsigned number = __popc(__ballot_sync(all_lanes, tasks_end <= task));
      const std::uint32_t before = __shfl_sync(all_lanes, tasks_end, number) - lookup(number).tasks;
      look_up_tiles(lookup(number), task - before);
    }
  }

  // Not inlined: otherwise the additions would lack registers.
  __noinline__ __device__ void look_up_tiles(const RangeQuery& query, std::uint32_t task) {
    ListSlice slice;
    bool driver = false;
    if (lane_id() < query.pieces) {
      const Piece& piece = shared_.pieces[query.first_piece + lane_id()];
      slice = piece.slice();
      driver = piece.driver;
    }
    RangeLookup lookup(batch_, query.number, range_, slice, all_lanes >> (lanes_per_warp - query.pieces));
    lookup.unite(__ballot_sync(all_lanes, driver), task * tiles_per_lookup_task, tiles_per_lookup_task);
  }

  // Sums: one query after another, by all warps.

  __device__ void answer_queries() {
    if (shared_.num_queries == 0) return;
    TileRun run = own_run(shared_.queries[0]);
    for (std::uint32_t i = 0; i < shared_.num_queries; ++i) {
      const RangeQuery& query = shared_.queries[i];
      for (; run.left > 0;) {
        const Piece& piece = *run.piece;
        const std::uint32_t tile = run.tile;
        const uint4 entries = run.entries;
        run.next();
        add_tile(piece, tile, entries, query.min_term_units);
      }
      // The next query's first tiles are fetched while this query's sums are read and cleared.
      if (i + 1 < shared_.num_queries) run = own_run(shared_.queries[i + 1]);
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

  __device__ TileRun own_run(const RangeQuery& query) const {
    const Piece* pieces = shared_.pieces + query.first_piece;
    const std::uint32_t all = pieces[query.pieces - 1].tiles_end;
    const std::uint32_t begin = all * warp() / warps;
    TileRun run;
    run.left = all * (warp() + 1) / warps - begin;
    if (run.left == 0) return run;
    unsigned number = 0;
    for (unsigned base = 0; base < query.pieces; base += lanes_per_warp)
      number += __popc(
          __ballot_sync(all_lanes, base + lane_id() < query.pieces && pieces[base + lane_id()].tiles_end <= begin));
    run.piece = pieces + number;
    run.tile = begin - (number == 0 ? 0 : pieces[number - 1].tiles_end);
    run.entries = run.piece->fetch(run.tile);
    return run;
  }

  /// Adds the entries of a tile to the sums, and notes documents whose sums reach `min_term_units`.
  __device__ void add_tile(const Piece& piece, std::uint32_t tile, const uint4& entries, std::uint32_t min_term_units) {
    const std::uint32_t first = tile * tile_entries + lane_id() * 4, end = piece.end;
    const std::uint32_t weight = piece.unit_weight, offset = piece.unit_offset;
    if (first >= 4 && first + 4 <= end) {
      add(entries.x, weight, offset, min_term_units);
      add(entries.y, weight, offset, min_term_units);
      add(entries.z, weight, offset, min_term_units);
      add(entries.w, weight, offset, min_term_units);
    } else {
      const std::uint32_t skip = piece.skip;
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

  /// Counts the noted documents, raises the threshold, and makes candidates of those that are still above it. Few
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

  /// Calls visit(docID, units) for the noted documents that reach the threshold. A thread has the same ones each time.
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
