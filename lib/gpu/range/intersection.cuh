#pragma once
#include "quern/gpu/range/finish.cuh"
#include "quern/gpu/worker/scored_documents.cuh"

/// Intersection without entries: a warp looks up the documents of a block of the shortest list in the other lists. Term
/// scores are added in the order of summation, so scores are exact.
namespace quern::gpu {

/// Blocks of the shortest list that a warp takes at a time.
inline constexpr std::uint32_t tasks_at_a_time = 4;
/// Maximum thread blocks per block of the shortest list, whose documents are divided if there are more warps.
inline constexpr std::uint32_t blocks_per_task = 16;

template <Coding coding, int V, bool quantized>
class IntersectionWarp {
 public:
  __device__ IntersectionWarp(const IndexView& index, const RangeView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), scored_(index, batch, buffer) {}

  __device__ void run() {
    constexpr std::uint32_t warps_per_block = plain_threads / lanes_per_warp;
    const std::uint32_t warps = gridDim.x * warps_per_block;
    const std::uint32_t own = blockIdx.x * warps_per_block + threadIdx.x / lanes_per_warp;
    // Divide blocks into items if there are too few of them for all warps.
    unsigned shift = __ffs(block_documents) - 1;  // documents of an item: 2^shift
    while (shift > 0 && (std::uint64_t{batch_.tasks} * block_documents >> (shift - 1)) <= warps) --shift;
    const std::uint32_t items_per_task = block_documents >> shift, all = batch_.tasks * items_per_task;
    // A warp's first tasks need no queue.
    const std::uint32_t step = all <= warps * tasks_at_a_time ? 1 : tasks_at_a_time;
    for (std::uint32_t work = own * step; work < all; work = warps * step + take_for_warp(batch_.next_work, step)) {
      const std::uint32_t end = min(work + step, all);
      std::uint32_t number = last_begun(0, batch_.num_queries, work / items_per_task,
                                        [&](std::uint32_t q) { return batch_.queries[q].first_task; });
      for (std::uint32_t i = work; i < end; ++i) {
        const std::uint32_t task = i / items_per_task;
        while (number + 1 < batch_.num_queries && batch_.queries[number + 1].first_task <= task) ++number;
        own_ = own_documents(i % items_per_task, shift);
        answer(number, task - batch_.queries[number].first_task);
      }
      if (all <= warps * step) return;
    }
  }

 private:
  static constexpr std::uint32_t block_documents = V * lanes_per_warp;

  /// A bit for each of this lane's documents that is in the block's item `item` of 2^shift documents.
  __device__ static std::uint32_t own_documents(std::uint32_t item, unsigned shift) {
    std::uint32_t own = 0;
#pragma unroll
    for (unsigned i = 0; i < V; ++i) own |= static_cast<std::uint32_t>((lane_id() * V + i) >> shift == item) << i;
    return own;
  }

  __device__ void answer(std::uint32_t number, std::uint32_t block) {
    const BatchQuery& query = batch_.queries[number];
    const BatchTerm& shortest = batch_.terms[query.first_term];
    const ListView& list = batch_.lists[shortest.list];
    if (!list.raw && ended(number, place_of(index_, list, block).before + 1)) return;
    if (!scored_.take(shortest, block)) return;
    scored_.documents.keep(own_);
    if (batch_.passing != nullptr) scored_.documents.keep_if([&](std::uint32_t docid) { return batch_.passes(docid); });
    for (std::uint32_t t = 1; t < query.terms; ++t) {
      if (!scored_.documents.any()) return;
      scored_.look_up(batch_.terms[query.first_term + t]);
    }
    add_candidates(number, query);
  }

  /// Whether no document from `docid` on can be a result.
  __device__ bool ended(std::uint32_t number, std::uint32_t docid) const {
    if (batch_.range_upper_bounds == nullptr || docid >= index_.num_documents) return false;
    const QueryThreshold threshold = load_threshold(batch_, number);
    return units_of_score(batch_.queries[number].scale, batch_.range_upper_bounds[docid / range_documents]) <
           threshold.units;
  }

  __device__ void add_candidates(std::uint32_t number, const BatchQuery& query) {
    count(number, query);
    if (!scored_.documents.any()) return;
    __threadfence();
    const QueryThreshold threshold = raise_threshold(batch_, query, number);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (!scored_.documents.alive(i)) continue;
      const std::uint32_t docid = scored_.documents.docid(i);
      if (upper_units(query, scored_.scores[i]) >= min_units(threshold, docid))
        store_candidate(batch_, number, rank_key(scored_.scores[i], docid));
    }
  }

  /// Counts the documents that may be results, and drops the others.
  __device__ void count(std::uint32_t number, const BatchQuery& query) {
    const QueryThreshold threshold = load_threshold(batch_, number);
#pragma unroll
    for (int i = 0; i < V; ++i) {
      if (!scored_.documents.alive(i)) continue;
      const std::uint32_t docid = scored_.documents.docid(i);
      const float score = scored_.scores[i];
      if (upper_units(query, score) >= min_units(threshold, docid))
        count_document(batch_, query, number, docid, min(static_cast<std::uint32_t>(score * query.scale), max_units));
      else
        scored_.documents.drop(i);
    }
  }

  const IndexView& index_;
  const RangeView& batch_;
  ScoredDocuments<coding, V, quantized> scored_;
  std::uint32_t own_ = 0;  ///< a bit per document of this lane that is in this warp's item
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    run_intersection(const __grid_constant__ IndexView index, const __grid_constant__ RangeView batch) {
  __shared__ WarpBuffers<V> buffers;
  IntersectionWarp<coding, V, quantized>(index, batch, begin_decoding<coding>(buffers)).run();
}

// Intersection from entries: a warp takes an item, documents of a query's shortest list, and looks them up in the other
// lists. An item lies in one range or covers neighbouring ones, so that items are alike in size.

/// A list to look documents up in. Entries are numbered from 0, even if the first is not posting 0.
struct EntryList {
  const std::uint32_t* entries = nullptr;
  const std::uint32_t* starts = nullptr;  ///< per range of the window: see RangeView::starts()
  std::uint32_t begin = 0, count = 0;     ///< the first posting that has an entry; entries
  std::uint32_t unit_weight = 0, unit_offset = 0;
  std::uint32_t max_units = 0;  ///< upper bound of a posting's units

  EntryList() = default;
  __device__ EntryList(const RangeView& batch, const BatchTerm& term)
      : unit_weight(term.unit_weight), unit_offset(term.unit_offset), max_units(term.max_units) {
    const EntryPlace& place = batch.entries_of[term.list];
    entries = batch.entries + place.first_entry;
    starts = batch.starts(place);
    begin = place.begin;
    count = place.end - place.begin;
  }

  __device__ EntryList from_lane(unsigned lane) const {
    EntryList other;
    other.entries = pointer_of(entries, lane);
    other.starts = pointer_of(starts, lane);
    other.begin = __shfl_sync(all_lanes, begin, lane);
    other.count = __shfl_sync(all_lanes, count, lane);
    other.unit_weight = __shfl_sync(all_lanes, unit_weight, lane);
    other.unit_offset = __shfl_sync(all_lanes, unit_offset, lane);
    other.max_units = __shfl_sync(all_lanes, max_units, lane);
    return other;
  }
  /// The first entry in the window's range `range` or after it; `count` if there is none. Any of these after damage.
  __device__ std::uint32_t start(std::uint32_t range) const {
    const std::uint32_t posting = starts[range];
    return posting > begin ? min(posting - begin, count) : 0;
  }
  __device__ std::uint32_t units(std::uint32_t entry) const { return units_of(entry, unit_weight, unit_offset); }

 private:
  __device__ static const std::uint32_t* pointer_of(const std::uint32_t* own, unsigned lane) {
    return reinterpret_cast<const std::uint32_t*>(
        __shfl_sync(all_lanes, reinterpret_cast<unsigned long long>(own), lane));
  }
};

/// N documents per lane of a warp, which all lists so far contain.
template <int N>
struct ItemDocuments {
  std::uint32_t own[N];    ///< docIDs, counted from the item's first one
  std::uint32_t units[N];  ///< upper bounds of the scores so far
  unsigned alive = 0;      ///< a bit per document

  __device__ bool is_alive(int i) const { return alive >> i & 1; }
  __device__ void drop(int i) { alive &= ~(1u << i); }
  __device__ std::uint32_t range(int i) const { return own[i] / range_documents; }  ///< of the item
  /// The greatest possible entry of the document.
  __device__ std::uint32_t greatest_entry(int i) const { return greatest_entry_of(own[i] % range_documents); }
};

class ItemIntersection {
 public:
  __device__ ItemIntersection(const RangeView& batch, const IntersectionItem& item)
      : batch_(batch),
        item_(item),
        query_(batch.queries[item.query]),
        terms_(query_.terms),
        first_term_(query_.first_term),
        begin_((batch.first_range + item.first_range) * range_documents) {}

  __device__ void run() {
    const QueryThreshold threshold = load_threshold(batch_, item_.query);
    sum_ = load_lists();
    if (!order_lists()) return;
    require(threshold);
    if (sum_ < min_term_units_) return;
    const EntryList driver = list_at(0);
    note_starts(driver);
    const std::uint32_t first = __shfl_sync(all_lanes, start_, 0),
                        after = driver.start(item_.first_range + item_.ranges);
    if (after <= first) return;
    // The item has whole tiles.
    const std::uint32_t tiles = (after - first + lanes_per_warp - 1) / lanes_per_warp;
    const std::uint32_t own = (tiles + item_.places - 1) / item_.places;
    if (std::uint64_t{item_.place} * own >= tiles) return;
    std::uint32_t next = first + item_.place * own * lanes_per_warp;
    const std::uint32_t end = min(after - next, own * lanes_per_warp) + next;
    for (; next < end && min_term_units_ <= sum_;) {
      if (end - next > 2 * lanes_per_warp) {
        look_up<many_tiles>(driver, next, end);
        next += many_tiles * lanes_per_warp;
      } else {
        look_up<1>(driver, next, end);
        next += lanes_per_warp;
      }
    }
  }

 private:
  /// Tiles of 32 documents that are looked up together, to have several reads in flight.
  static constexpr int many_tiles = 4;

  // The lists: those of the first 32 terms have a lane each.

  __device__ std::uint32_t lane_lists() const { return min(terms_, lanes_per_warp); }
  __device__ const BatchTerm& term(std::uint32_t i) const { return batch_.terms[first_term_ + i]; }

  /// Loads the lists; returns the upper bound of a document's units.
  __device__ std::uint32_t load_lists() {
    if (lane_id() < terms_) own_list_ = EntryList(batch_, term(lane_id()));
    std::uint32_t own = own_list_.max_units;
    for (std::uint32_t i = lanes_per_warp + lane_id(); i < terms_; i += lanes_per_warp) own += term(i).max_units;
    return warp_sum(own);
  }
  /// Orders the lists for lookups: by number of entries in a single range, else by number of postings. The first is the
  /// driver. False if a list has no entries.
  __device__ bool order_lists() {
    place_ = lane_id();
    if (item_.ranges > 1) return true;
    const bool has_list = lane_id() < terms_;
    std::uint32_t count = 0xffffffffu;
    if (has_list) {
      const std::uint32_t first = own_list_.start(item_.first_range);
      const std::uint32_t after = own_list_.start(item_.first_range + 1);
      count = after > first ? after - first : 0;
    }
    if (__any_sync(all_lanes, has_list && count == 0)) return false;
    std::uint32_t place = 0;
    for (unsigned lane = 0; lane < lane_lists(); ++lane) {
      const std::uint32_t other = __shfl_sync(all_lanes, count, lane);
      place += other < count || (other == count && lane < lane_id());
    }
    place_ = place;
    return true;
  }
  __device__ EntryList list_at(std::uint32_t place) const {
    if (place >= lane_lists()) return EntryList(batch_, term(place));
    return own_list_.from_lane(__ffs(__ballot_sync(all_lanes, lane_id() < terms_ && place_ == place)) - 1);
  }

  /// Sets the requirement at this threshold: the lowest of the item's ranges.
  __device__ void require(const QueryThreshold& threshold) {
    threshold_ = threshold;
    std::uint32_t own = 0xffffffffu;
    if (lane_id() < item_.ranges) {
      const RangeRequirement required =
          requirement_of(batch_, item_.query, begin_ + lane_id() * range_documents, threshold);
      if (!required.none) own = required.min_term_units;
    }
    min_term_units_ = __reduce_min_sync(all_lanes, own);
  }

  /// Sets start_ in lane i to the driver's first entry in the item's range i.
  __device__ void note_starts(const EntryList& driver) {
    start_ = 0xffffffffu;
    if (lane_id() < item_.ranges) start_ = driver.start(item_.first_range + lane_id());
  }
  /// The item's range that contains a posting of the driver.
  __device__ std::uint32_t range_of(std::uint32_t posting) const {
    unsigned range = 0;
#pragma unroll
    for (unsigned distance = lanes_per_warp / 2; distance > 0; distance /= 2)
      if (__shfl_sync(all_lanes, start_, range + distance) <= posting) range += distance;
    return range;
  }

  /// Looks up the documents of N tiles of the driver, from posting `first` on.
  template <int N>
  __device__ void look_up(const EntryList& driver, std::uint32_t first, std::uint32_t end) {
    ItemDocuments<N> documents;
    take(driver, first, end, documents);
    std::uint32_t rest = sum_ - driver.max_units;
    for (std::uint32_t place = 1; place < terms_; ++place) {
      drop_below(documents, rest);
      if (!__any_sync(all_lanes, documents.alive != 0)) return;
      const EntryList list = list_at(place);
      rest -= list.max_units;
      find_in(list, documents);
    }
    add_found(documents);
  }

  template <int N>
  __device__ void take(const EntryList& driver, std::uint32_t first, std::uint32_t end, ItemDocuments<N>& documents) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const std::uint32_t posting = first + i * lanes_per_warp + lane_id();
      const bool there = posting < end;
      const std::uint32_t entry = there ? driver.entries[posting] : 0;
      const std::uint32_t range = item_.ranges == 1 ? 0 : range_of(posting);
      documents.own[i] = range * range_documents + document_of(entry);
      documents.units[i] = driver.units(entry);
      // Damaged blocks may leave too many entries between two starts, or entries of other ranges.
      const std::uint32_t docid = begin_ + documents.own[i];
      if (there && range < item_.ranges && docid < batch_.num_documents && batch_.passes(docid))
        documents.alive |= 1u << i;
    }
  }

  template <int N>
  __device__ void drop_below(ItemDocuments<N>& documents, std::uint32_t rest) const {
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (documents.units[i] + rest < min_term_units_) documents.drop(i);
  }

  /// Keeps the documents that a list contains, and adds the units of their postings.
  template <int N>
  __device__ void find_in(const EntryList& list, ItemDocuments<N>& documents) const {
    std::uint32_t found[N];
    const bool has_entries =
        item_.ranges == 1 ? find_in_range(list, documents, found) : find_in_ranges(list, documents, found);
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (has_entries && documents.is_alive(i) && document_of(found[i]) == documents.own[i] % range_documents)
        documents.units[i] += list.units(found[i]);
      else
        documents.drop(i);
  }

  /// Sets `found` to the last entry that is not above each document, or to any if there is none. For documents of one
  /// range: lanes read 32 evenly spaced entries and choose among them. False without entries.
  template <int N>
  __device__ bool find_in_range(const EntryList& list, const ItemDocuments<N>& documents,
                                std::uint32_t (&found)[N]) const {
    const std::uint32_t first = list.start(item_.first_range), after = list.start(item_.first_range + 1);
    if (after <= first) return false;
    const std::uint32_t step = (after - first + lanes_per_warp - 1) / lanes_per_warp;
    const std::uint32_t* entries = list.entries;
    const std::uint32_t splitter = entries[first + min(lane_id() * step, after - first - 1)];
    std::uint32_t at[N], last[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
      unsigned lane = 0;
#pragma unroll
      for (unsigned distance = lanes_per_warp / 2; distance > 0; distance /= 2)
        if (__shfl_sync(all_lanes, splitter, lane + distance) <= documents.greatest_entry(i)) lane += distance;
      found[i] = __shfl_sync(all_lanes, splitter, lane);
      at[i] = first + min(lane * step, after - first - 1);
      last[i] = after - 1;
    }
    search(entries, documents, step, at, last, found);
    return true;
  }

  /// find_in_range() for documents of several ranges: each lane searches the entries of its documents' ranges.
  template <int N>
  __device__ bool find_in_ranges(const EntryList& list, ItemDocuments<N>& documents, std::uint32_t (&found)[N]) const {
    const std::uint32_t* entries = list.entries;
    std::uint32_t at[N], last[N], longest = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      found[i] = at[i] = last[i] = 0;
      if (!documents.is_alive(i)) continue;
      const std::uint32_t range = item_.first_range + documents.range(i);
      at[i] = list.start(range);
      const std::uint32_t after = list.start(range + 1);
      if (after > at[i]) {
        last[i] = after - 1;
        longest = max(longest, after - at[i]);
      } else {
        documents.drop(i);
      }
    }
    longest = warp_max(longest);
    if (longest == 0) return false;
#pragma unroll
    for (int i = 0; i < N; ++i)
      if (documents.is_alive(i)) found[i] = entries[at[i]];
    search(entries, documents, longest, at, last, found);
    return true;
  }

  /// Moves at[i] to the last entry that is not above document i, among the next `left` entries and not after last[i].
  /// All lanes take the same number of steps, so a lane's reads are in flight together.
  template <int N>
  __device__ static void search(const std::uint32_t* entries, const ItemDocuments<N>& documents, std::uint32_t left,
                                std::uint32_t (&at)[N], const std::uint32_t (&last)[N], std::uint32_t (&found)[N]) {
    while (left > 1) {
      const std::uint32_t half = left / 2;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (!documents.is_alive(i)) continue;
        const std::uint32_t middle = min(at[i] + half, last[i]), entry = entries[middle];
        if (entry <= documents.greatest_entry(i)) at[i] = middle, found[i] = entry;
      }
      left -= half;
    }
  }

  /// Makes the documents that reach the threshold candidates.
  template <int N>
  __device__ void add_found(ItemDocuments<N>& documents) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (!documents.is_alive(i)) continue;
      const std::uint32_t docid = begin_ + documents.own[i];
      documents.units[i] += static_score_units(batch_, query_, docid);
      if (documents.units[i] >= max(1u, min_units(threshold_, docid)))
        count_document(batch_, query_, item_.query, docid, documents.units[i]);
      else
        documents.drop(i);
    }
    if (!__any_sync(all_lanes, documents.alive != 0)) return;
    require(raise_counted(batch_, item_.query));
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const std::uint32_t docid = begin_ + documents.own[i], units = documents.units[i];
      if (documents.is_alive(i) && units >= min_units(threshold_, docid))
        store_candidate(batch_, item_.query, Candidate{units} << 32 | docid);
    }
  }

  const RangeView& batch_;
  const IntersectionItem item_;
  const BatchQuery& query_;
  const std::uint32_t terms_, first_term_;
  const std::uint32_t begin_;  ///< the item's first docID
  EntryList own_list_;         ///< this lane's
  std::uint32_t place_ = 0;    ///< of this lane's list in the order of lookups
  std::uint32_t start_ = 0;    ///< see note_starts()
  std::uint32_t sum_ = 0;      ///< upper bound of a document's units
  QueryThreshold threshold_{};
  std::uint32_t min_term_units_ = 0;  ///< minimum units of a document's terms
};

/// Answers the items of all queries of a batch. By warps.
__device__ inline void answer_items(const RangeView& batch) {
  const std::uint32_t warps_per_block = blockDim.x / lanes_per_warp, warps = gridDim.x * warps_per_block;
  const std::uint32_t all = batch.items.all;
  // A warp's first item needs no queue.
  std::uint32_t work = blockIdx.x * warps_per_block + threadIdx.x / lanes_per_warp;
  while (work < all) {
    // The number of the next item arrives while this one is answered.
    std::uint32_t next = 0;
    if (all > warps && lane_id() == 0) next = atomicAdd(batch.next_work, 1u);
    const IntersectionItem item = item_of(batch.items, batch.ranges, work);
    if (item.ranges > 0) ItemIntersection(batch, item).run();
    if (all <= warps) return;
    work = warps + uniform(next);
  }
}

}  // namespace quern::gpu
