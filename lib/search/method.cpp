#include "quern/search/method.hpp"

#include <algorithm>
#include <cstdint>

#include "quern/core/named.hpp"

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

}  // namespace

const std::vector<IntersectionMethod>& all_intersection_methods() {
  static const std::vector<IntersectionMethod> methods = {
      {"block-skipping", "decodes only blocks that may contain a document of the shorter lists", nullptr,
       intersect_by_blocks},
      {"galloping", "decodes all lists; doubling steps through the longer list, then binary search",
       intersect_by_galloping, nullptr},
      {"stride", "decodes all lists; steps of one segment through the longer list, then back inside it",
       intersect_by_stride, nullptr, true},
      {"merge", "decodes all lists; walks both docID by docID", intersect_by_merging, nullptr},
  };
  return methods;
}

const IntersectionMethod& intersection_method_named(std::string_view name) {
  return find_named(all_intersection_methods(), name, "method of intersection");
}

void intersect_by_blocks(std::vector<docid_t>& common, BlockReader& list) {
  const auto block_last = list.list().block_last;
  std::size_t kept = 0, i = 0, block = 0;
  while (i < common.size()) {
    block = block_last.empty() ? block : search_rows(block_last, block, common[i]);
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

void intersect_by_galloping(std::vector<docid_t>& common, std::span<const docid_t> list, const IntersectionOptions&) {
  std::size_t place = 0, kept = 0;
  for (const docid_t docid : common) {
    std::size_t step = 1;
    while (place + step < list.size() && list[place + step] < docid) {
      place += step;
      step *= 2;
    }
    // DocIDs before `place` are below the document, those after the last step are not.
    const auto from = list.begin() + static_cast<std::ptrdiff_t>(place);
    const auto to = list.begin() + static_cast<std::ptrdiff_t>(std::min(place + step + 1, list.size()));
    const auto found = std::lower_bound(from, to, docid);
    if (found == list.end()) break;
    place = static_cast<std::size_t>(found - list.begin());
    if (*found == docid) common[kept++] = docid;
  }
  common.resize(kept);
}

void intersect_by_merging(std::vector<docid_t>& common, std::span<const docid_t> list, const IntersectionOptions&) {
  std::size_t i = 0, j = 0, kept = 0;
  while (i < common.size() && j < list.size()) {
    // No branches: which of the two is less cannot be predicted.
    const docid_t a = common[i], b = list[j];
    common[kept] = a;
    kept += a == b ? 1 : 0;
    i += a <= b ? 1 : 0;
    j += b <= a ? 1 : 0;
  }
  common.resize(kept);
}

}  // namespace quern
