#pragma once
#include "quern/gpu/prior.cuh"
#include "quern/gpu/pruning.hpp"
#include "quern/gpu/range_lookup.cuh"
#include "quern/gpu/tuning.hpp"
#include "quern/gpu/units.hpp"

/// The union of lists, range of docIDs by range: a thread block has the sums of a range's documents in shared memory
/// and takes query after query. Entries are added in any order, in units, so that nothing waits for another list.
namespace quern::gpu {

/// Entries that a warp takes at a time: four a lane.
inline constexpr std::uint32_t tile_entries = 4 * lanes_a_warp;

/// What a list has in a range.
struct Piece {
  const uint4* entries = nullptr;  ///< of its first tile
  std::uint32_t skip = 0;          ///< entries of the tile that belong to the range before
  std::uint32_t end = 0;           ///< behind the range's last entry, from the first tile's first on
  std::uint32_t tiles_end = 0;     ///< tiles of this piece and those before it of the same kind
  std::uint32_t unit_weight = 0, unit_more = 0;
};

/// A query that may have results in a range.
struct RangeQuery {
  std::uint32_t number = 0;
  std::uint32_t first_piece = 0;
  std::uint32_t essential = 0, others = 0;  ///< pieces; the others alone can't make a result
  std::uint32_t least = 0;                  ///< units of a result
  std::uint32_t least_essential = 0;        ///< those of them that essential pieces give
};

/// What a thread block shares.
struct UnionRoom {
  alignas(16) std::uint32_t sums[range_documents / 2];  ///< two documents a word: one of the range's lower half, one of
                                                        ///< its upper half
  Piece pieces[chunk_terms];
  RangeQuery queries[chunk_queries];
  std::uint16_t candidates[range_candidates];  ///< docIDs within the range, whose sums reach the threshold
  std::uint16_t hopes[range_hopes];            ///< those that the other pieces may lift there
  std::uint32_t num_queries, num_pieces, num_candidates, num_hopes, next_query, work;
};

class UnionBlock {
 public:
  __device__ UnionBlock(const BatchView& batch, UnionRoom& room, Pruning pruning)
      : batch_(batch), room_(room), pruning_(pruning) {}

  __device__ void run() {
    clear_sums();
    const std::uint32_t all = batch_.ranges * batch_.num_chunks;
    for (;;) {
      __syncthreads();
      if (threadIdx.x == 0) {
        room_.work = atomicAdd(batch_.next_work, 1u);
        room_.num_queries = room_.num_pieces = room_.num_candidates = room_.num_hopes = 0;
        room_.next_query = 0;
      }
      __syncthreads();
      const std::uint32_t work = room_.work;
      if (work >= all) return;
      range_ = work / batch_.num_chunks;
      begin_ = range_ * range_documents;
      choose_queries(batch_.chunks[work % batch_.num_chunks]);
      __syncthreads();
      for (std::uint32_t i = 0; i < room_.num_queries; ++i) answer(room_.queries[i]);
    }
  }

 private:
  static constexpr unsigned warps = union_threads / lanes_a_warp;
  static constexpr std::uint32_t half_range = range_documents / 2;
  __device__ static unsigned warp() { return threadIdx.x / lanes_a_warp; }

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
      if (query.terms <= lanes_a_warp)
        choose(number, query);
      else
        choose_all(number, query);
    }
  }

  /// What is added up of a term's entries.
  __device__ static Piece piece_of(const RangePart& part) {
    Piece piece;
    piece.unit_weight = part.unit_weight;
    piece.unit_more = part.unit_more;
    // Four entries are read at once.
    piece.skip = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(part.entries) / sizeof(std::uint32_t) % 4);
    piece.entries = reinterpret_cast<const uint4*>(part.entries - piece.skip);
    piece.end = part.count + piece.skip;
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
    RangeLookup lookup(batch_, number, range_, part, there);
    if (lookup.ended()) return;
    const std::uint32_t least = lookup.least();
    if (pruning_ == Pruning::none) return put_pieces(number, part, there, 0, least, least);
    if (warp_sum(part.bound) < least) return;
    // The lists of the lowest bounds that together can't make a result.
    std::uint32_t up_to = part.bound;
    for (unsigned left = there; left != 0; left &= left - 1) {
      const unsigned lane = __ffs(left) - 1;
      const std::uint32_t other = __shfl_sync(all_lanes, part.bound, lane);
      if (other < part.bound || (other == part.bound && lane < lane_id())) up_to += other;
    }
    const bool essential = part.count > 0 && up_to >= least;
    const unsigned essentials = __ballot_sync(all_lanes, essential);
    // Looking documents up pays where they are few.
    const std::uint32_t first = warp_sum(essential ? part.count : 0), all = warp_sum(part.count);
    if (first * (1 + (__popc(there) - 1) * lookup_cost) <= all) return lookup.unite(essentials);
    const std::uint32_t others = warp_max(part.count > 0 && !essential ? up_to : 0);
    put_pieces(number, part, essentials, there & ~essentials, least, least - others);
  }

  /// Keeps a query's pieces, those of `essentials` first.
  __device__ void put_pieces(std::uint32_t number, const RangePart& part, unsigned essentials, unsigned rest,
                             std::uint32_t least, std::uint32_t least_essential) {
    const bool essential = essentials >> lane_id() & 1;
    const unsigned before = (1u << lane_id()) - 1;
    std::uint32_t first = 0;
    if (lane_id() == 0) {
      first = atomicAdd(&room_.num_pieces, __popc(essentials | rest));
      room_.queries[atomicAdd(&room_.num_queries, 1u)] = {number,
                                                          first,
                                                          static_cast<std::uint32_t>(__popc(essentials)),
                                                          static_cast<std::uint32_t>(__popc(rest)),
                                                          least,
                                                          least_essential};
    }
    first = __shfl_sync(all_lanes, first, 0);
    const std::uint32_t tiles = tiles_of(part);
    const std::uint32_t essential_end = inclusive_sum(essential ? tiles : 0);
    const std::uint32_t rest_end = inclusive_sum(essential ? 0 : tiles);
    if (tiles == 0) return;
    Piece piece = piece_of(part);
    piece.tiles_end = essential ? essential_end : rest_end;
    room_.pieces[first + (essential ? __popc(essentials & before) : __popc(essentials) + __popc(rest & before))] =
        piece;
  }

  /// Queries of more terms than a warp has lanes: all of their pieces are essential.
  __device__ void choose_all(std::uint32_t number, const BatchQuery& query) {
    const RangeNeed need = need_of(batch_, number, range_, begin_);
    if (need.ended) return;
    std::uint32_t first = 0, count = 0, end = 0, sum = 0;
    if (lane_id() == 0) first = atomicAdd(&room_.num_pieces, query.terms);
    first = __shfl_sync(all_lanes, first, 0);
    for (unsigned base = 0; base < query.terms; base += lanes_a_warp) {
      RangePart part;
      if (base + lane_id() < query.terms)
        part = part_of(batch_, batch_.terms[query.first_term + base + lane_id()], range_);
      const std::uint32_t tiles = tiles_of(part);
      Piece piece = piece_of(part);
      const unsigned there = __ballot_sync(all_lanes, tiles > 0);
      piece.tiles_end = end + inclusive_sum(tiles);
      if (tiles > 0) room_.pieces[first + count + __popc(there & ((1u << lane_id()) - 1))] = piece;
      count += __popc(there);
      end = last_lane(piece.tiles_end);
      sum += warp_sum(part.bound);
    }
    if (count > 0 && lane_id() == 0 && (pruning_ == Pruning::none || sum >= need.least))
      room_.queries[atomicAdd(&room_.num_queries, 1u)] = {number, first, count, 0, need.least, need.least};
  }

  // One query in the range, by all warps.

  __device__ void answer(const RangeQuery& query) {
    const Piece* pieces = room_.pieces + query.first_piece;
    if (query.others == 0) {
      add_pieces<false>(pieces, query.essential, query.least, 0);
      __syncthreads();
    } else {
      add_pieces<true>(pieces, query.essential, query.least, query.least_essential);
      __syncthreads();
      add_others(query, pieces + query.essential);
    }
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

  /// What the other pieces add to documents that they may lift to the threshold: to a few they are looked up, for many
  /// all is added.
  __device__ void add_others(const RangeQuery& query, const Piece* others) {
    const std::uint32_t hopes = room_.num_hopes;
    if (hopes == 0) return;
    if (hopes <= range_hopes && hopes * query.others <= hopes_a_tile * others[query.others - 1].tiles_end) {
      for (std::uint32_t i = threadIdx.x; i < hopes * query.others; i += union_threads) {
        const std::uint32_t place = room_.hopes[i / query.others], units = units_in(others[i % query.others], place);
        if (units == 0) continue;
        const std::uint32_t shift = shift_of(place);
        const std::uint32_t before = atomicAdd(&room_.sums[place % half_range], units << shift) >> shift & 0xffff;
        if (query.least - 1 - before < units) note(place);
      }
    } else {
      add_pieces<false>(others, query.others, query.least, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0) room_.num_hopes = 0;
  }

  /// Adds pieces up, each warp a run of neighbouring tiles. Documents that come to `least` units are noted; those that
  /// come to `hopeful` units raise the flag of hopes.
  template <bool with_hopes>
  __device__ void add_pieces(const Piece* pieces, std::uint32_t count, std::uint32_t least, std::uint32_t hopeful) {
    const std::uint32_t all = pieces[count - 1].tiles_end;
    std::uint32_t i = all * warp() / warps;
    const std::uint32_t end = all * (warp() + 1) / warps;
    if (i == end) return;
    unsigned number = 0;
    for (unsigned base = 0; base < count; base += lanes_a_warp)
      number += __popc(__ballot_sync(all_lanes, base + lane_id() < count && pieces[base + lane_id()].tiles_end <= i));
    std::uint32_t tile = i - (number == 0 ? 0 : pieces[number - 1].tiles_end);
    while (i < end) {
      const Piece& piece = pieces[number];
      const std::uint32_t weight = piece.unit_weight, more = piece.unit_more, piece_end = piece.end;
      const uint4* from = piece.entries + tile * lanes_a_warp + lane_id();
      std::uint32_t first = tile * tile_entries + lane_id() * 4;
      const std::uint32_t tiles = min(piece.tiles_end, end) - i;
      i += tiles;
      for (std::uint32_t left = tiles; left > 0; --left, from += lanes_a_warp, first += tile_entries) {
        if (first >= piece_end) continue;
        const uint4 entries = *from;
        if (first >= 4 && first + 4 <= piece_end) {
          add<with_hopes>(entries.x, weight, more, least, hopeful);
          add<with_hopes>(entries.y, weight, more, least, hopeful);
          add<with_hopes>(entries.z, weight, more, least, hopeful);
          add<with_hopes>(entries.w, weight, more, least, hopeful);
        } else {
          const std::uint32_t skip = piece.skip;
          if (first >= skip) add<with_hopes>(entries.x, weight, more, least, hopeful);
          if (first + 1 >= skip && first + 1 < piece_end) add<with_hopes>(entries.y, weight, more, least, hopeful);
          if (first + 2 >= skip && first + 2 < piece_end) add<with_hopes>(entries.z, weight, more, least, hopeful);
          if (first + 3 >= skip && first + 3 < piece_end) add<with_hopes>(entries.w, weight, more, least, hopeful);
        }
      }
      ++number;
      tile = 0;
    }
  }

  template <bool with_hopes>
  __device__ void add(std::uint32_t entry, std::uint32_t weight, std::uint32_t more, std::uint32_t least,
                      std::uint32_t hopeful) {
    const std::uint32_t place = entry >> 16, units = units_of(entry, weight, more), shift = shift_of(place);
    const std::uint32_t before = atomicAdd(&room_.sums[place % half_range], units << shift) >> shift & 0xffff;
    // before < least <= before + units
    if (least - 1 - before < units) note(place);
    if constexpr (with_hopes) {
      if (hopeful - 1 - before < units) hope(place);
    }
  }

  __device__ void note(std::uint32_t place) {
    const std::uint32_t slot = atomicAdd(&room_.num_candidates, 1u);
    if (slot < range_candidates) room_.candidates[slot] = static_cast<std::uint16_t>(place);
  }
  __device__ void hope(std::uint32_t place) {
    const std::uint32_t slot = atomicAdd(&room_.num_hopes, 1u);
    if (slot < range_hopes) room_.hopes[slot] = static_cast<std::uint16_t>(place);
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
      units += prior_units(batch_, of, begin_ + place);
      if (units < max(1u, least_units(threshold, begin_ + place))) continue;
      add_candidate(batch_, of, query.number, begin_ + place, units, Candidate{units} << 32 | (begin_ + place));
    }
    __threadfence();
  }

  /// Units of a document in a piece; 0 where it is not in it.
  __device__ static std::uint32_t units_in(const Piece& piece, std::uint32_t place) {
    const auto* entries = reinterpret_cast<const std::uint32_t*>(piece.entries);
    const std::uint32_t begin = find_place(entries, piece.skip, piece.end, place);
    if (begin == piece.end || entries[begin] >> 16 != place) return 0;
    return units_of(entries[begin], piece.unit_weight, piece.unit_more);
  }

  const BatchView& batch_;
  UnionRoom& room_;
  Pruning pruning_;
  std::uint32_t range_ = 0, begin_ = 0;  ///< the range, and its first docID
};

}  // namespace quern::gpu
