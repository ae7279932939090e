#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/engine/pruning.hpp"
#include "quern/gpu/engine/units.hpp"
#include "quern/gpu/range/prior.cuh"
#include "quern/gpu/range/range_lookup.cuh"

/// The union of lists, range of docIDs by range: a thread block has the sums of a range's documents in shared memory
/// and takes query after query. Entries are added in any order, in units, so that nothing waits for another list.
namespace quern::gpu {

/// Entries that a warp takes at a time: four a lane.
inline constexpr std::uint32_t tile_entries = 4 * lanes_per_warp;

/// What a list has in a range.
struct Piece {
  const uint4* entries = nullptr;  ///< of its first tile
  std::uint32_t unit_weight = 0;
  std::uint32_t tiles_end = 0;  ///< tiles of this piece and those before it
  std::uint32_t bound = 0;      ///< units of a posting
  std::uint16_t end = 0;        ///< behind the range's last entry, from the first tile's first on
  std::uint8_t skip : 4 = 0;    ///< entries of the first tile that belong to the range before
  std::uint8_t driver : 4 = 0;  ///< 1: its documents are looked up in the query's other lists
  std::uint8_t unit_more = 0;

  __device__ RangePart part() const {
    return {reinterpret_cast<const std::uint32_t*>(entries) + skip, std::uint32_t{end} - skip, unit_weight, unit_more,
            bound};
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
  std::uint32_t least = 0;  ///< units of a result
  std::uint32_t turns = 0;  ///< that warps take to look its documents up
};

/// What a thread block shares.
struct UnionRoom {
  alignas(16) std::uint32_t sums[range_documents / 2];  ///< two documents a word: one of the range's lower half, one of
                                                        ///< its upper half
  Piece pieces[chunk_terms];
  RangeQuery queries[chunk_queries];           ///< those to be added up; from the end on, those to be looked up
  std::uint16_t candidates[range_candidates];  ///< docIDs within the range, whose sums reach the threshold
  std::uint32_t num_queries, num_lookups, num_pieces, num_candidates, next_query, next_turn, work;
};

/// A warp's share of a query's tiles: neighbours, the first of them fetched.
struct TileRun {
  const Piece* piece = nullptr;
  std::uint32_t tile = 0;  ///< of the piece
  std::uint32_t left = 0;  ///< tiles, this one included
  uint4 entries{};

  /// Fetches the tile behind, if there is one.
  __device__ void next() {
    --left;
    ++tile;
    if (tile * tile_entries >= piece->end) ++piece, tile = 0;
    if (left > 0) entries = piece->fetch(tile);
  }
};

class UnionBlock {
 public:
  __device__ UnionBlock(const RangeView& batch, UnionRoom& room, Pruning pruning)
      : batch_(batch), room_(room), pruning_(pruning) {}

  __device__ void run() {
    clear_sums();
    const std::uint32_t all = batch_.ranges * batch_.num_chunks;
    for (;;) {
      __syncthreads();
      if (threadIdx.x == 0) {
        room_.work = atomicAdd(batch_.next_work, 1u);
        room_.num_queries = room_.num_lookups = room_.num_pieces = room_.num_candidates = 0;
        room_.next_query = room_.next_turn = 0;
      }
      __syncthreads();
      const std::uint32_t work = room_.work;
      if (work >= all) return;
      range_ = work / batch_.num_chunks;
      begin_ = range_ * range_documents;
      choose_queries(batch_.chunks[work % batch_.num_chunks]);
      __syncthreads();
      look_up();
      answer_queries();
    }
  }

 private:
  static constexpr unsigned warps = union_threads / lanes_per_warp;
  static constexpr std::uint32_t half_range = range_documents / 2;
  __device__ static unsigned warp() { return threadIdx.x / lanes_per_warp; }

  __device__ void clear_sums() {
    auto* sums = reinterpret_cast<uint4*>(room_.sums);
#pragma unroll 4
    for (unsigned i = threadIdx.x; i < range_documents / 8; i += union_threads) sums[i] = make_uint4(0, 0, 0, 0);
  }
  __device__ static unsigned shift_of(std::uint32_t place) { return place < half_range ? 0 : 16; }
  __device__ std::uint32_t sum_of(std::uint32_t place) const {
    return room_.sums[place % half_range] >> shift_of(place) & 0xffff;
  }

  // Which queries of a chunk may have results in the range, and of which entries: a warp a query.

  __device__ void choose_queries(const BatchChunk& chunk) {
    for (;;) {
      std::uint32_t i = 0;
      if (lane_id() == 0) i = atomicAdd(&room_.next_query, 1u);
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

  /// What is added up of a term's entries.
  __device__ static Piece piece_of(const RangePart& part) {
    Piece piece;
    piece.bound = part.bound;
    piece.unit_weight = part.unit_weight;
    piece.unit_more = static_cast<std::uint8_t>(part.unit_more);
    // Four entries are read at once.
    piece.skip = static_cast<std::uint8_t>(reinterpret_cast<std::uintptr_t>(part.entries) / sizeof(std::uint32_t) % 4);
    piece.entries = reinterpret_cast<const uint4*>(part.entries - piece.skip);
    piece.end = static_cast<std::uint16_t>(part.count + piece.skip);
    return piece;
  }
  __device__ static std::uint32_t tiles_of(const RangePart& part) {
    if (part.count == 0) return 0;
    return (piece_of(part).end + tile_entries - 1) / tile_entries;
  }

  __device__ void choose(std::uint32_t number, const BatchQuery& query) {
    RangePart part;
    if (lane_id() < query.terms) part = part_of(batch_, batch_.terms[query.first_term + lane_id()], range_);
    const unsigned there = __ballot_sync(all_lanes, part.count > 0);
    if (there == 0) return;
    const RangeNeed need = need_of(batch_, number, range_, begin_);
    if (need.ended) return;
    if (pruning_ == Pruning::none) return put_query(number, part, there, need.least);
    if (warp_sum(part.bound) < need.least) return;
    // The lists of the lowest bounds that together can't make a result.
    std::uint32_t up_to = part.bound;
    for (unsigned left = there; left != 0; left &= left - 1) {
      const unsigned lane = __ffs(left) - 1;
      const std::uint32_t other = __shfl_sync(all_lanes, part.bound, lane);
      if (other < part.bound || (other == part.bound && lane < lane_id())) up_to += other;
    }
    const bool essential = part.count > 0 && up_to >= need.least;
    // Looking documents up pays where they are few.
    const std::uint32_t first = warp_sum(essential ? part.count : 0), all = warp_sum(part.count);
    if (first * (1 + (__popc(there) - 1) * lookup_cost) <= all + adding_cost)
      put_lookup(number, part, there, essential);
    else
      put_query(number, part, there, need.least);
  }

  /// Keeps a query whose pieces are added up.
  __device__ void put_query(std::uint32_t number, const RangePart& part, unsigned there, std::uint32_t least) {
    const std::uint32_t count = __popc(there), first = pieces_for(count);
    if (lane_id() == 0) put_query(number, first, count, least);
    put(part, first, 0);
  }
  __device__ void put_query(std::uint32_t number, std::uint32_t first, std::uint32_t pieces, std::uint32_t least) {
    room_.queries[atomicAdd(&room_.num_queries, 1u)] = {number, static_cast<std::uint16_t>(first),
                                                        static_cast<std::uint16_t>(pieces), least};
  }
  /// Keeps one whose drivers' documents are looked up.
  __device__ void put_lookup(std::uint32_t number, const RangePart& part, unsigned there, bool driver) {
    const std::uint32_t count = __popc(there), first = pieces_for(count);
    const std::uint32_t tiles = warp_sum(driver ? lookup_tiles_of(part) : 0);
    if (lane_id() == 0)
      lookup(atomicAdd(&room_.num_lookups, 1u)) = {number, static_cast<std::uint16_t>(first),
                                                   static_cast<std::uint16_t>(count), 0,
                                                   (tiles + lookup_turn - 1) / lookup_turn};
    put(part, first, 0, driver);
  }
  /// Room for a query's pieces.
  __device__ std::uint32_t pieces_for(std::uint32_t count) {
    std::uint32_t first = 0;
    if (lane_id() == 0) first = atomicAdd(&room_.num_pieces, count);
    return __shfl_sync(all_lanes, first, 0);
  }

  /// Keeps the lanes' pieces from place `first` on, behind tiles up to `end`; returns where their tiles end.
  __device__ std::uint32_t put(const RangePart& part, std::uint32_t first, std::uint32_t end, bool driver = false) {
    const std::uint32_t tiles = tiles_of(part);
    Piece piece = piece_of(part);
    piece.driver = driver;
    piece.tiles_end = end + inclusive_sum(tiles);
    const unsigned before = __ballot_sync(all_lanes, tiles > 0) & ((1u << lane_id()) - 1);
    if (tiles > 0) room_.pieces[first + __popc(before)] = piece;
    return last_lane(piece.tiles_end);
  }

  /// Queries of more terms than a warp has lanes.
  __device__ void choose_all(std::uint32_t number, const BatchQuery& query) {
    const RangeNeed need = need_of(batch_, number, range_, begin_);
    if (need.ended) return;
    const std::uint32_t first = pieces_for(query.terms);
    std::uint32_t count = 0, end = 0, sum = 0;
    for (unsigned base = 0; base < query.terms; base += lanes_per_warp) {
      RangePart part;
      if (base + lane_id() < query.terms)
        part = part_of(batch_, batch_.terms[query.first_term + base + lane_id()], range_);
      end = put(part, first + count, end);
      count += __popc(__ballot_sync(all_lanes, part.count > 0));
      sum += warp_sum(part.bound);
    }
    if (count > 0 && lane_id() == 0 && (pruning_ == Pruning::none || sum >= need.least))
      put_query(number, first, count, need.least);
  }

  // The documents of queries that have few, by any warp that has time.

  __device__ RangeQuery& lookup(std::uint32_t i) { return room_.queries[chunk_queries - 1 - i]; }

  __device__ void look_up() {
    const std::uint32_t lookups = room_.num_lookups;
    if (lookups == 0) return;
    const std::uint32_t turns_end = inclusive_sum(lane_id() < lookups ? lookup(lane_id()).turns : 0);
    const std::uint32_t all = last_lane(turns_end);
    for (;;) {
      std::uint32_t turn = 0;
      if (lane_id() == 0) turn = atomicAdd(&room_.next_turn, 1u);
      turn = __shfl_sync(all_lanes, turn, 0);
      if (turn >= all) return;
      const unsigned number = __popc(__ballot_sync(all_lanes, turns_end <= turn));
      const std::uint32_t before = __shfl_sync(all_lanes, turns_end, number) - lookup(number).turns;
      take_turn(lookup(number), turn - before);
    }
  }

  // By itself, or those of the additions would lack registers.
  __noinline__ __device__ void take_turn(const RangeQuery& query, std::uint32_t turn) {
    RangePart part;
    bool driver = false;
    if (lane_id() < query.pieces) {
      const Piece& piece = room_.pieces[query.first_piece + lane_id()];
      part = piece.part();
      driver = piece.driver;
    }
    RangeLookup lookup(batch_, query.number, range_, part, all_lanes >> (lanes_per_warp - query.pieces));
    lookup.unite(__ballot_sync(all_lanes, driver), turn * lookup_turn, lookup_turn);
  }

  // One query after another in the range, by all warps.

  __device__ void answer_queries() {
    if (room_.num_queries == 0) return;
    TileRun run = own_run(room_.queries[0]);
    for (std::uint32_t i = 0; i < room_.num_queries; ++i) {
      const RangeQuery& query = room_.queries[i];
      for (; run.left > 0;) {
        const Piece& piece = *run.piece;
        const std::uint32_t tile = run.tile;
        const uint4 entries = run.entries;
        run.next();
        add_tile(piece, tile, entries, query.least);
      }
      // What the next query reads first is on its way while this one's sums are looked at and cleared.
      if (i + 1 < room_.num_queries) run = own_run(room_.queries[i + 1]);
      __syncthreads();
      const std::uint32_t found = room_.num_candidates;
      if (found > 0) {
        collect(query, found);
        __syncthreads();
        if (warp() == 0) raise_threshold(batch_, batch_.queries[query.number], query.number);
        if (threadIdx.x == 0) room_.num_candidates = 0;
      }
      clear_sums();
      __syncthreads();
    }
  }

  __device__ TileRun own_run(const RangeQuery& query) const {
    const Piece* pieces = room_.pieces + query.first_piece;
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

  /// Adds a tile of a piece up. Documents that come to `least` units are noted.
  __device__ void add_tile(const Piece& piece, std::uint32_t tile, const uint4& entries, std::uint32_t least) {
    const std::uint32_t first = tile * tile_entries + lane_id() * 4, end = piece.end;
    const std::uint32_t weight = piece.unit_weight, more = piece.unit_more;
    if (first >= 4 && first + 4 <= end) {
      add(entries.x, weight, more, least);
      add(entries.y, weight, more, least);
      add(entries.z, weight, more, least);
      add(entries.w, weight, more, least);
    } else {
      const std::uint32_t skip = piece.skip;
      if (first >= skip && first < end) add(entries.x, weight, more, least);
      if (first + 1 >= skip && first + 1 < end) add(entries.y, weight, more, least);
      if (first + 2 >= skip && first + 2 < end) add(entries.z, weight, more, least);
      if (first + 3 >= skip && first + 3 < end) add(entries.w, weight, more, least);
    }
  }

  __device__ void add(std::uint32_t entry, std::uint32_t weight, std::uint32_t more, std::uint32_t least) {
    const std::uint32_t place = entry >> 16, units = units_of(entry, weight, more), shift = shift_of(place);
    const std::uint32_t before = atomicAdd(&room_.sums[place % half_range], units << shift) >> shift & 0xffff;
    // before < least <= before + units
    if (least - 1 - before < units) note(place);
  }

  __device__ void note(std::uint32_t place) {
    const std::uint32_t slot = atomicAdd(&room_.num_candidates, 1u);
    if (slot < range_candidates) room_.candidates[slot] = static_cast<std::uint16_t>(place);
  }

  /// Hands on the noted documents that are still above the threshold.
  __device__ void collect(const RangeQuery& query, std::uint32_t found) {
    const BatchQuery& of = batch_.queries[query.number];
    const bool all_noted = found <= range_candidates;
    const std::uint32_t count = all_noted ? found : range_documents;
    const Threshold threshold = load_threshold(batch_, query.number);
    for (std::uint32_t i = threadIdx.x; i < count; i += union_threads) {
      const std::uint32_t place = all_noted ? room_.candidates[i] : i;
      std::uint32_t units = sum_of(place);
      if (units == 0) continue;
      units += static_score_units(batch_, of, begin_ + place);
      if (units < max(1u, min_units(threshold, begin_ + place))) continue;
      add_candidate(batch_, of, query.number, begin_ + place, units, Candidate{units} << 32 | (begin_ + place));
    }
    __threadfence();
  }

  const RangeView& batch_;
  UnionRoom& room_;
  Pruning pruning_;
  std::uint32_t range_ = 0, begin_ = 0;  ///< the range, and its first docID
};

}  // namespace quern::gpu
