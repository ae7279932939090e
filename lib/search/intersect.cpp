#include "quern/search/intersect.hpp"

#include <tbb/enumerable_thread_specific.h>

#include "quern/core/wall_clock.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/hash_segments.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {
namespace {

constexpr unsigned compared_lanes = 16;

/// Whether one of the compared_lanes values is `wanted`.
bool any_lane_is(const std::uint32_t* values, std::uint32_t wanted) {
#if defined(__AVX2__)
  const __m256i all = _mm256_set1_epi32(static_cast<int>(wanted));
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + 8));
  const __m256i equal = _mm256_or_si256(_mm256_cmpeq_epi32(low, all), _mm256_cmpeq_epi32(high, all));
  return _mm256_testz_si256(equal, equal) == 0;
#else
  bool found = false;
  for (unsigned i = 0; i < compared_lanes; ++i) found |= values[i] == wanted;
  return found;
#endif
}

/// Searches the docIDs of one block for ascending documents.
class BlockSearch {
 public:
  explicit BlockSearch(std::span<const docid_t> docids) : docids_(docids) {}

  bool has(docid_t docid) {
    while (place_ + compared_lanes <= docids_.size()) {
      const docid_t* lanes = docids_.data() + place_;
      if (lanes[compared_lanes - 1] >= docid) return any_lane_is(lanes, docid);
      place_ += compared_lanes;
    }
    while (place_ < docids_.size() && docids_[place_] < docid) ++place_;
    return place_ < docids_.size() && docids_[place_] == docid;
  }

 private:
  std::span<const docid_t> docids_;
  std::size_t place_ = 0;
};

/// Skips blocks whose docID ranges contain no document of `common`; compares sixteen docIDs at a time in the others.
/// search_row(from, docid): the first row from `from` on with at least that docID.
template <class Search>
void intersect_found_blocks(std::vector<docid_t>& common, BlockReader& list, const Search& search_row) {
  std::size_t kept = 0, i = 0, block = 0;
  while (i < common.size()) {
    block = list.list().block_last.empty() ? block : search_row(block, common[i]);
    if (block >= list.num_blocks()) break;
    list.load(block);
    BlockSearch search(list.docids());
    const docid_t last = list.docids().back();
    for (; i < common.size() && common[i] <= last; ++i) {
      common[kept] = common[i];
      kept += search.has(common[i]) ? 1 : 0;
    }
    ++block;
  }
  common.resize(kept);
}

void intersect_by_blocks(std::vector<docid_t>& common, BlockReader& list) {
  intersect_found_blocks(common, list, [rows = list.list().block_last](std::size_t from, docid_t docid) {
    return search_rows(rows, from, docid);
  });
}

/// As above, but each document's block is searched for only in one bucket of the list's rows.
void intersect_by_hash_segments(std::vector<docid_t>& common, BlockReader& list) {
  const auto rows = list.list().block_last;
  const RowBuckets buckets(rows, std::max(common.back() + 1, static_cast<docid_t>(rows.size())));
  intersect_found_blocks(common, list, [&](std::size_t from, docid_t docid) { return buckets.search(from, docid); });
}

/// Steps through the list by segments and searches backwards in the first one that does not end below a document: the
/// CPU method of Wu, Zhang, Ao, Wang, Liu, Wang: A Batched GPU Algorithm for Set Intersection (ISPAN 2009), Figure 2.
void intersect_by_stride(std::vector<docid_t>& common, std::span<const docid_t> list,
                         const IntersectionOptions& options) {
  const std::size_t segment = std::max(options.segment, 1u);
  std::size_t begin = 0, end = std::min(segment, list.size()), kept = 0;
  for (const docid_t docid : common) {
    while (list[end - 1] < docid) {
      if (end == list.size()) return common.resize(kept);
      begin = end;
      end += std::min(segment, list.size() - end);
    }
    std::size_t place = end - 1;
    while (place > begin && list[place] > docid) --place;
    if (list[place] == docid) common[kept++] = docid;
  }
  common.resize(kept);
}

/// Doubles its step until it passes a document, then searches the last step by bisection (Bentley, Yao: An Almost
/// Optimal Algorithm for Unbounded Searching, Information Processing Letters 5, 1976).
void intersect_by_galloping(std::vector<docid_t>& common, std::span<const docid_t> list, const IntersectionOptions&) {
  std::size_t place = 0, kept = 0;
  for (const docid_t docid : common) {
    std::size_t step = 1;
    while (place + step < list.size() && list[place + step] < docid) {
      place += step;
      step *= 2;
    }
    // DocIDs before `place` are below the document; those after the last step are not.
    const auto from = list.begin() + static_cast<std::ptrdiff_t>(place);
    const auto to = list.begin() + static_cast<std::ptrdiff_t>(std::min(place + step + 1, list.size()));
    const auto found = std::lower_bound(from, to, docid);
    if (found == list.end()) break;
    place = static_cast<std::size_t>(found - list.begin());
    if (*found == docid) common[kept++] = docid;
  }
  common.resize(kept);
}

/// Merges the two lists: the baseline.
void intersect_by_merging(std::vector<docid_t>& common, std::span<const docid_t> list, const IntersectionOptions&) {
  std::size_t i = 0, j = 0, kept = 0;
  while (i < common.size() && j < list.size()) {
    // Branchless, since comparing the two docIDs is unpredictable.
    const docid_t a = common[i], b = list[j];
    common[kept] = a;
    kept += a == b ? 1 : 0;
    i += a <= b ? 1 : 0;
    j += b <= a ? 1 : 0;
  }
  common.resize(kept);
}

/// Adds its lifetime to a sum.
class ScopedTimer {
 public:
  explicit ScopedTimer(double& sum_us) : sum_us_(sum_us), begun_(WallClock::now()) {}
  ~ScopedTimer() { sum_us_ += us_since(begun_); }
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

 private:
  double& sum_us_;
  WallClock::time_point begun_;
};

}  // namespace

bool Intersection::find_lists(QueryView query, WorkSpace& space, FoundTerms* remembered) const {
  space.lists.clear();
  const auto add = [&](const PostingList& list, double) { space.lists.push_back(list); };
  if (!(remembered ? quern::find_lists(*remembered, query, true, add) : quern::find_lists(index_, query, true, add)))
    return false;
  std::sort(space.lists.begin(), space.lists.end(), summed_before);
  return !space.lists.empty();
}

void Intersection::decode(const PostingList& list, QueryStatistics& statistics, std::vector<docid_t>& docids) const {
  docids.clear();
  docids.reserve(list.df);
  const auto append = [&](const BlockReader& block) {
    docids.insert(docids.end(), block.docids().begin(), block.docids().end());
  };
  for_each_block(index_, list, append, &statistics.blocks_decoded);
}

void Intersection::answer(QueryView query, WorkSpace& space, IntersectionAnswer& answer) const {
  HeldTotal total(default_held_bytes);
  HeldAnswer alone(total);
  answer_unless_full(query, space, answer, alone);
}

bool Intersection::answer_unless_full(QueryView query, WorkSpace& space, IntersectionAnswer& answer,
                                      HeldAnswer& held) const {
  answer.documents.clear();
  IntersectionStatistics& statistics = answer.statistics = {};
  const ScopedTimer whole(statistics.time_us);
  QueryMemory::Claim claim(memory_);
  claim.raise_to(query.size() * sizeof(PostingList));
  if (!find_lists(query, space)) return true;
  std::uint64_t bytes = space.lists.front().df * sizeof(docid_t);
  if (const PostingList& longest = space.lists.back(); method_.cuts_rows)
    bytes += RowBuckets::bytes(longest.block_last.size());
  else if (method_.intersect_decoded && space.lists.size() > 1)
    bytes += longest.df * sizeof(docid_t);
  claim.raise_to(bytes);
  // Answers may have filled up while it waited for other large queries.
  if (claim.is_alone() && held.is_full()) return false;
  QueryStatistics read;
  {
    const ScopedTimer timer(statistics.decode_us);
    decode(space.lists.front(), read, answer.documents);
  }
  for (std::size_t i = 1; i < space.lists.size() && !answer.documents.empty(); ++i) {
    if (method_.intersect_coded) {
      const ScopedTimer timer(statistics.intersect_us);
      BlockReader reader(index_, space.lists[i], &read.blocks_decoded);
      method_.intersect_coded(answer.documents, reader);
      continue;
    }
    {
      const ScopedTimer timer(statistics.decode_us);
      decode(space.lists[i], read, space.decoded);
    }
    const ScopedTimer timer(statistics.intersect_us);
    method_.intersect_decoded(answer.documents, space.decoded, options_);
  }
  // Unread lists count too: rates refer to whole queries.
  for (const PostingList& list : space.lists) {
    statistics.counts.postings += list.df;
    statistics.counts.blocks += list.num_blocks(index_.block_size());
  }
  statistics.counts.blocks_decoded = read.blocks_decoded;
  if (claim.is_alone()) {
    space.lists = {};
    space.decoded = {};
    answer.documents.shrink_to_fit();
  }
  // Before the claim ends and another large query begins.
  held.add(answer.documents.capacity() * sizeof(docid_t));
  return true;
}

void intersect_batch(const Intersection& intersection, std::span<const QueryView> queries, unsigned threads,
                     const std::function<void(std::size_t, const IntersectionAnswer&)>& take,
                     std::uint64_t held_bytes) {
  tbb::enumerable_thread_specific<Intersection::WorkSpace> spaces;
  answer_or_put_off_in_batches<IntersectionAnswer>(
      queries.size(), threads, held_bytes,
      [&](std::size_t i, IntersectionAnswer& answer, HeldAnswer& held) {
        return intersection.answer_unless_full(queries[i], spaces.local(), answer, held);
      },
      take);
}

const std::vector<IntersectionMethod>& all_intersection_methods() {
  static const std::vector<IntersectionMethod> methods = {
      {"block-skipping", "decodes only blocks that may contain a document of the shorter lists", nullptr,
       intersect_by_blocks},
      {.name = "hash-segments",
       .description = "as block-skipping, with blocks found in one bucket of a list's rows (Wang et al. 2017)",
       .intersect_coded = intersect_by_hash_segments,
       .cuts_rows = true},
      {"galloping", "decodes all lists; doubling steps through the longer list, then binary search",
       intersect_by_galloping, nullptr},
      {"stride", "decodes all lists; steps of one segment through the longer list, then back inside it",
       intersect_by_stride, nullptr, true},
      {"merge", "decodes all lists; walks both docID by docID", intersect_by_merging, nullptr},
  };
  return methods;
}

const IntersectionMethod& intersection_method_named(std::string_view name) {
  return find_named(all_intersection_methods(), name, "intersection method");
}

}  // namespace quern
