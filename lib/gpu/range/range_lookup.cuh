#pragma once
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/range/threshold.cuh"

/// Answers a query for documents with any term in a range by lookups instead of sums: the entries of a few lists, the
/// drivers, give documents, and each of these is looked up in the other lists as long as it may still reach the
/// threshold. By a warp.
namespace quern::gpu {

/// The entries of a list in a range. Each lane of a warp has that of one term.
struct ListSlice {
  const std::uint32_t* entries = nullptr;
  std::uint32_t count = 0;
  std::uint32_t unit_weight = 0, unit_offset = 0;
  std::uint32_t max_units = 0;  ///< upper bound of a posting's units; 0 if there are no entries

  /// The slice of another lane.
  __device__ ListSlice from_lane(unsigned lane) const {
    const auto from = __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(entries), lane);
    return {reinterpret_cast<const std::uint32_t*>(from), __shfl_sync(all_lanes, count, lane),
            __shfl_sync(all_lanes, unit_weight, lane), __shfl_sync(all_lanes, unit_offset, lane),
            __shfl_sync(all_lanes, max_units, lane)};
  }
};

/// The slice of a term's list in range `range` of the window.
__device__ inline ListSlice slice_of(const RangeView& batch, const BatchTerm& term, std::uint32_t range) {
  const EntryPlace& place = batch.entries_of[term.list];
  const std::uint32_t* starts = batch.starts(place) + range;
  const std::uint32_t first = min(starts[0], place.end), end = min(starts[1], place.end);
  // Damage may leave more entries between two starts than a range has documents.
  const std::uint32_t count = end > first ? min(end - first, range_documents) : 0;
  if (count == 0) return {};
  ListSlice slice{batch.entries + place.first_entry + (first - place.begin), count, term.unit_weight, term.unit_offset,
                  0};
  slice.max_units = term.max_units;
  if (batch.reads_max) slice.max_units = units_of(batch.range_max(place)[range], term.unit_weight, term.unit_offset);
  return slice;
}

/// Tiles of 32 entries, one per lane, in a slice; the last may be shorter.
__device__ inline std::uint32_t lookup_tiles_of(const ListSlice& slice) {
  return (slice.count + lanes_per_warp - 1) / lanes_per_warp;
}

/// Looks up one document per lane in a list's `count` rising entries of a range; lanes without a document pass
/// `wanted` = false. Returns the document's entry, or the entry of any other document if it has none. The lanes first
/// read 32 evenly spaced entries and choose between them by shuffles, so that only a few dependent reads remain, which
/// lie close together. By a whole warp.
__device__ inline std::uint32_t entry_of(const std::uint32_t* entries, std::uint32_t count, std::uint32_t document,
                                         bool wanted) {
  const std::uint32_t step = (count + lanes_per_warp - 1) / lanes_per_warp, last = document << 16 | 0xffff;
  const std::uint32_t splitter = entries[min(lane_id() * step, count - 1)];
  unsigned lane = 0;
#pragma unroll
  for (unsigned distance = lanes_per_warp / 2; distance > 0; distance /= 2)
    if (__shfl_sync(all_lanes, splitter, lane + distance) <= last) lane += distance;
  std::uint32_t found = __shfl_sync(all_lanes, splitter, lane);
  if (!wanted || found >> 16 >= document) return found;
  // entries[begin] is `found`.
  for (std::uint32_t begin = min(lane * step, count - 1), end = min(begin + step, count); end - begin > 1;) {
    const std::uint32_t middle = begin + (end - begin) / 2, entry = entries[middle];
    if (entry <= last)
      begin = middle, found = entry;
    else
      end = middle;
  }
  return found;
}

/// One query in one range of the window.
class RangeLookup {
 public:
  /// `slice` is each lane's own; `lists` has a bit for each lane with a list.
  __device__ RangeLookup(const RangeView& batch, std::uint32_t number, std::uint32_t range, const ListSlice& slice,
                         unsigned lists)
      : batch_(batch),
        number_(number),
        begin_((batch.first_range + range) * range_documents),
        slice_(slice),
        lists_(lists) {
    required_ = requirement_of(batch, number, begin_);
  }

  /// Finds documents with any term, given that each result is in one of the lists `drivers` (a bit per lane). Reads
  /// `tiles` of the drivers' tiles, from number `tile` on.
  __device__ void unite(unsigned drivers, std::uint32_t tile, std::uint32_t tiles) {
    order(lists_ >> lane_id() & 1 ? ~slice_.max_units : 0xffffffffu);
    const unsigned count = __popc(lists_);
    const std::uint32_t sum = warp_sum(lists_ >> lane_id() & 1 ? slice_.max_units : 0);
    for (unsigned place = 0; place < count; ++place) {
      const unsigned driver = lane_at(place);
      if (!(drivers >> driver & 1)) continue;
      const ListSlice front = slice_.from_lane(driver);
      const std::uint32_t front_tiles = lookup_tiles_of(front);
      for (; tile < front_tiles && tiles > 0; ++tile, --tiles)
        look_up(front, tile * lanes_per_warp, place, count, drivers, sum - front.max_units);
      if (tiles == 0) return;
      tile -= front_tiles;
    }
  }

 private:
  /// Orders the lists for lookups, by rising key.
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

  /// Looks up 32 entries of a driver, one per lane.
  __device__ void look_up(const ListSlice& front, std::uint32_t first, unsigned own_place, unsigned count,
                          unsigned drivers, std::uint32_t rest) {
    bool alive = first + lane_id() < front.count;
    const std::uint32_t entry = alive ? front.entries[first + lane_id()] : 0;
    const std::uint32_t document = entry >> 16;
    alive = alive && batch_.passes(begin_ + document);
    std::uint32_t units = units_of(entry, front.unit_weight, front.unit_offset);
    for (unsigned place = 0; place < count; ++place) {
      alive &= units + rest >= required_.min_term_units;
      if (!__any_sync(all_lanes, alive)) return;
      if (place == own_place) continue;
      const unsigned lane = lane_at(place);
      const ListSlice other = slice_.from_lane(lane);
      rest -= other.max_units;
      const std::uint32_t found = entry_of(other.entries, other.count, document, alive);
      if (!alive || found >> 16 != document) continue;
      units += units_of(found, other.unit_weight, other.unit_offset);
      // An earlier driver has the document too, and finds it.
      if (place < own_place && (drivers >> lane & 1)) alive = false;
    }
    add_found(alive, begin_ + document, units);
  }

  /// Makes candidates of this tile's documents whose terms have `units` units, if they reach the threshold.
  __device__ void add_found(bool alive, std::uint32_t docid, std::uint32_t units) {
    if (alive) units += static_score_units(batch_, batch_.queries[number_], docid);
    alive = alive && units >= max(1u, min_units(required_.threshold, docid));
    if (__any_sync(all_lanes, alive))
      required_ = requirement_of(batch_, number_, begin_, take_documents(batch_, number_, alive, docid, units));
  }

  const RangeView& batch_;
  std::uint32_t number_, begin_;
  ListSlice slice_;
  unsigned lists_, place_ = 0;
  RangeRequirement required_;
};

}  // namespace quern::gpu
