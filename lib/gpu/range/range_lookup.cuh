#pragma once
#include "quern/gpu/range/threshold.cuh"

/// Answers a query for documents with any term in a range by lookups instead of sums: each document of a few lists, the
/// drivers, is looked up in the other lists while it may still reach the threshold. Called by a warp.
namespace quern::gpu {

/// A list's entries in a range. Each lane of a warp has those of one term.
struct RangeEntries {
  const std::uint32_t* data = nullptr;
  std::uint32_t count = 0;
  std::uint32_t unit_weight = 0, unit_offset = 0;
  std::uint32_t max_units = 0;  ///< upper bound of a posting's units; 0 if there are no entries

  __device__ RangeEntries from_lane(unsigned lane) const {
    const auto from = __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(data), lane);
    return {reinterpret_cast<const std::uint32_t*>(from), __shfl_sync(all_lanes, count, lane),
            __shfl_sync(all_lanes, unit_weight, lane), __shfl_sync(all_lanes, unit_offset, lane),
            __shfl_sync(all_lanes, max_units, lane)};
  }
};

/// The entries of a term's list in the window's range `range`.
__device__ inline RangeEntries entries_in_range(const RangeView& batch, const BatchTerm& term, std::uint32_t range) {
  const EntryPlace& place = batch.entries_of[term.list];
  const std::uint32_t* starts = batch.starts(place) + range;
  const std::uint32_t first = min(starts[0], place.end), end = min(starts[1], place.end);
  // Damage may leave more entries between two starts than a range has documents.
  const std::uint32_t count = end > first ? min(end - first, range_documents) : 0;
  if (count == 0) return {};
  RangeEntries entries{batch.entries + place.first_entry + (first - place.begin), count, term.unit_weight,
                       term.unit_offset, 0};
  entries.max_units = term.max_units;
  if (batch.reads_max) entries.max_units = units_of(batch.range_max(place)[range], term.unit_weight, term.unit_offset);
  return entries;
}

/// Number of tiles of 32 entries, one per lane; the last may be shorter.
__device__ inline std::uint32_t lookup_tiles_of(const RangeEntries& entries) {
  return (entries.count + lanes_per_warp - 1) / lanes_per_warp;
}

/// Looks up one document per lane in a list's `count` rising entries of a range; lanes without a document pass `wanted`
/// = false. Returns the document's entry, or another document's if it has none. Lanes first read 32 evenly spaced
/// entries and choose among them, which leaves a few reads close together. Called by a whole warp.
__device__ inline std::uint32_t find_entry(const std::uint32_t* entries, std::uint32_t count, std::uint32_t document,
                                           bool wanted) {
  const std::uint32_t step = (count + lanes_per_warp - 1) / lanes_per_warp, last = greatest_entry_of(document);
  const std::uint32_t splitter = entries[min(lane_id() * step, count - 1)];
  unsigned lane = 0;
#pragma unroll
  for (unsigned distance = lanes_per_warp / 2; distance > 0; distance /= 2)
    if (__shfl_sync(all_lanes, splitter, lane + distance) <= last) lane += distance;
  std::uint32_t found = __shfl_sync(all_lanes, splitter, lane);
  if (!wanted || document_of(found) >= document) return found;
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
  /// `entries`: each lane's own. `lists`: a bit per lane that has a list.
  __device__ RangeLookup(const RangeView& batch, std::uint32_t number, std::uint32_t range, const RangeEntries& entries,
                         unsigned lists)
      : batch_(batch),
        number_(number),
        begin_((batch.first_range + range) * range_documents),
        entries_(entries),
        lists_(lists) {
    required_ = requirement_of(batch, number, begin_);
  }

  /// Finds documents with any term. Each result must be in one of the lists `drivers` (a bit per lane). Reads the
  /// drivers' tiles [tile, tile + tiles).
  __device__ void unite(unsigned drivers, std::uint32_t tile, std::uint32_t tiles) {
    order(lists_ >> lane_id() & 1 ? ~entries_.max_units : 0xffffffffu);
    const unsigned count = __popc(lists_);
    const std::uint32_t sum = warp_sum(lists_ >> lane_id() & 1 ? entries_.max_units : 0);
    for (unsigned place = 0; place < count; ++place) {
      const unsigned driver = lane_at(place);
      if (!(drivers >> driver & 1)) continue;
      const RangeEntries driver_entries = entries_.from_lane(driver);
      const std::uint32_t driver_tiles = lookup_tiles_of(driver_entries);
      for (; tile < driver_tiles && tiles > 0; ++tile, --tiles)
        look_up(driver_entries, tile * lanes_per_warp, place, count, drivers, sum - driver_entries.max_units);
      if (tiles == 0) return;
      tile -= driver_tiles;
    }
  }

 private:
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
  __device__ void look_up(const RangeEntries& driver_entries, std::uint32_t first, unsigned own_place, unsigned count,
                          unsigned drivers, std::uint32_t rest) {
    bool alive = first + lane_id() < driver_entries.count;
    const std::uint32_t entry = alive ? driver_entries.data[first + lane_id()] : 0;
    const std::uint32_t document = document_of(entry);
    alive = alive && batch_.passes(begin_ + document);
    std::uint32_t units = units_of(entry, driver_entries.unit_weight, driver_entries.unit_offset);
    for (unsigned place = 0; place < count; ++place) {
      alive &= units + rest >= required_.min_term_units;
      if (!__any_sync(all_lanes, alive)) return;
      if (place == own_place) continue;
      const unsigned lane = lane_at(place);
      const RangeEntries other = entries_.from_lane(lane);
      rest -= other.max_units;
      const std::uint32_t found = find_entry(other.data, other.count, document, alive);
      if (!alive || document_of(found) != document) continue;
      units += units_of(found, other.unit_weight, other.unit_offset);
      // The lookups of an earlier driver find the document.
      if (place < own_place && (drivers >> lane & 1)) alive = false;
    }
    add_found(alive, begin_ + document, units);
  }

  /// Makes this tile's documents, whose terms have `units` units, candidates if they reach the threshold.
  __device__ void add_found(bool alive, std::uint32_t docid, std::uint32_t units) {
    if (alive) units += static_score_units(batch_, batch_.queries[number_], docid);
    alive = alive && units >= max(1u, min_units(required_.threshold, docid));
    if (__any_sync(all_lanes, alive))
      required_ = requirement_of(batch_, number_, begin_, take_documents(batch_, number_, alive, docid, units));
  }

  const RangeView& batch_;
  std::uint32_t number_, begin_;
  RangeEntries entries_;
  unsigned lists_, place_ = 0;
  RangeRequirement required_;
};

}  // namespace quern::gpu
