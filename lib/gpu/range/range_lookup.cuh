#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/engine/units.hpp"
#include "quern/gpu/range/entry_search.cuh"
#include "quern/gpu/range/prior.cuh"

/// Answers a query in a range without sums: documents come from the entries of a few lists, the drivers, and each is
/// looked up in the other lists as long as it may still reach the threshold. By a warp.
namespace quern::gpu {

/// What a lane's term has in the range.
struct RangePart {
  const std::uint32_t* entries = nullptr;
  std::uint32_t count = 0;
  std::uint32_t unit_weight = 0, unit_more = 0;
  std::uint32_t bound = 0;  ///< units of a posting in the range; 0 where there is none

  /// That of another lane.
  __device__ RangePart of(unsigned lane) const {
    const auto from = __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(entries), lane);
    return {reinterpret_cast<const std::uint32_t*>(from), __shfl_sync(all_lanes, count, lane),
            __shfl_sync(all_lanes, unit_weight, lane), __shfl_sync(all_lanes, unit_more, lane),
            __shfl_sync(all_lanes, bound, lane)};
  }
};

__device__ inline RangePart part_of(const RangeView& batch, const BatchTerm& term, std::uint32_t range) {
  const ListView& list = batch.lists[term.list];
  const std::uint32_t* starts = batch.starts + std::uint64_t{term.list} * (batch.ranges + 1) + range;
  const std::uint32_t first = min(starts[0], list.df), end = min(starts[1], list.df);
  // Damage may leave more entries between two starts than a range has documents.
  const std::uint32_t count = end > first ? min(end - first, range_documents) : 0;
  RangePart part{batch.entries + list.first_entry + first, count, term.unit_weight, term.unit_more, 0};
  if (part.count == 0) return part;
  part.bound = term.max_units;
  if (batch.range_max != nullptr) {
    const std::uint32_t value = batch.range_max[std::uint64_t{term.list} * batch.ranges + range];
    part.bound = units_of(value, term.unit_weight, term.unit_more);
  }
  return part;
}

/// Of how many times 32 entries, or fewer, a part consists.
__device__ inline std::uint32_t lookup_tiles_of(const RangePart& part) {
  return (part.count + lanes_per_warp - 1) / lanes_per_warp;
}

/// One query in one range.
class RangeLookup {
 public:
  /// `part` is each lane's own; lanes without a bit in `lists` have none.
  __device__ RangeLookup(const RangeView& batch, std::uint32_t number, std::uint32_t range, const RangePart& part,
                         unsigned lists)
      : batch_(batch), number_(number), begin_(range * range_documents), part_(part), lists_(lists) {
    need_ = need_of(batch, number, range, begin_);
  }

  /// No document of the range is a result.
  __device__ bool ended() const { return need_.ended; }
  /// Units that the terms' parts of any result in the range come to.
  __device__ std::uint32_t least() const { return need_.least; }

  /// Documents with all terms; the driver is the list with the fewest entries.
  __device__ void intersect() {
    const std::uint32_t key = lists_ >> lane_id() & 1 ? part_.count : 0xffffffffu;
    order(key);
    run<true>(1u << lane_at(0), 0, ~0u);
  }
  /// Documents with any term; each result has one of the drivers' entries. Of these, which are taken 32 at a time,
  /// tiles from `tile` on, so many.
  __device__ void unite(unsigned drivers, std::uint32_t tile, std::uint32_t tiles) {
    order(lists_ >> lane_id() & 1 ? ~part_.bound : 0xffffffffu);
    run<false>(drivers, tile, tiles);
  }

 private:
  /// Lists are looked up by rising key.
  __device__ void order(std::uint32_t key) {
    place_ = 0;
    for (unsigned left = lists_; left != 0; left &= left - 1) {
      const unsigned lane = __ffs(left) - 1;
      const std::uint32_t other = __shfl_sync(all_lanes, key, lane);
      place_ += other < key || (other == key && lane < lane_id());
    }
  }
  __device__ unsigned lane_at(unsigned place) const {
    return __ffs(__ballot_sync(all_lanes, (lists_ >> lane_id() & 1) && place_ == place)) - 1;
  }

  template <bool all_terms>
  __device__ void run(unsigned drivers, std::uint32_t tile, std::uint32_t tiles) {
    const unsigned count = __popc(lists_);
    const std::uint32_t sum = warp_sum(lists_ >> lane_id() & 1 ? part_.bound : 0);
    bool any = false;
    for (unsigned place = 0; place < count; ++place) {
      const unsigned driver = lane_at(place);
      if (!(drivers >> driver & 1)) continue;
      const RangePart front = part_.of(driver);
      const std::uint32_t front_tiles = lookup_tiles_of(front);
      for (; tile < front_tiles && tiles > 0; ++tile, --tiles)
        any |= look_up<all_terms>(front, tile * lanes_per_warp, place, count, drivers, sum - front.bound);
      if (tiles == 0) break;
      tile -= front_tiles;
    }
    if (!__any_sync(all_lanes, any)) return;
    __threadfence();
    raise_threshold(batch_, batch_.queries[number_], number_);
  }

  /// 32 entries of a driver. True where this lane's became a candidate.
  template <bool all_terms>
  __device__ bool look_up(const RangePart& front, std::uint32_t first, unsigned own_place, unsigned count,
                          unsigned drivers, std::uint32_t rest) const {
    bool alive = first + lane_id() < front.count;
    const std::uint32_t entry = alive ? front.entries[first + lane_id()] : 0;
    const std::uint32_t document = entry >> 16;
    std::uint32_t units = units_of(entry, front.unit_weight, front.unit_more);
    for (unsigned place = 0; place < count; ++place) {
      alive &= units + rest >= need_.least;
      if (!__any_sync(all_lanes, alive)) return false;
      if (place == own_place) continue;
      const unsigned lane = lane_at(place);
      const RangePart other = part_.of(lane);
      rest -= other.bound;
      const std::uint32_t found = entry_of(other.entries, other.count, document, alive);
      if (!alive) continue;
      if (found >> 16 == document) {
        units += units_of(found, other.unit_weight, other.unit_more);
        // An earlier driver had it.
        if (!all_terms && place < own_place && (drivers >> lane & 1)) alive = false;
      } else if (all_terms) {
        alive = false;
      }
    }
    const std::uint32_t docid = begin_ + document;
    if (!alive) return false;
    const BatchQuery& query = batch_.queries[number_];
    units += static_score_units(batch_, query, docid);
    if (units < max(1u, min_units(need_.threshold, docid))) return false;
    add_candidate(batch_, query, number_, docid, units, Candidate{units} << 32 | docid);
    return true;
  }

  const RangeView& batch_;
  std::uint32_t number_, begin_;
  RangePart part_;
  unsigned lists_, place_ = 0;
  RangeNeed need_;
};

/// The intersection of a batch's queries, of up to 32 terms each.
class RangeIntersection {
 public:
  explicit __device__ RangeIntersection(const RangeView& batch) : batch_(batch) {}

  __device__ void run() {
    const std::uint32_t all = batch_.ranges * batch_.num_chunks;
    for (;;) {
      std::uint32_t work = 0;
      if (lane_id() == 0) work = atomicAdd(batch_.next_work, 1u);
      work = __shfl_sync(all_lanes, work, 0);
      if (work >= all) return;
      const BatchChunk& chunk = batch_.chunks[work % batch_.num_chunks];
      for (std::uint32_t i = 0; i < chunk.queries; ++i) answer(chunk.first_query + i, work / batch_.num_chunks);
    }
  }

 private:
  __device__ void answer(std::uint32_t number, std::uint32_t range) {
    const BatchQuery& query = batch_.queries[number];
    RangePart part;
    if (lane_id() < query.terms) part = part_of(batch_, batch_.terms[query.first_term + lane_id()], range);
    const unsigned terms = 0xffffffffu >> (lanes_per_warp - query.terms);
    if (__ballot_sync(all_lanes, part.count > 0) != terms) return;
    RangeLookup lookup(batch_, number, range, part, terms);
    if (!lookup.ended() && warp_sum(part.bound) >= lookup.least()) lookup.intersect();
  }

  const RangeView& batch_;
};

}  // namespace quern::gpu
