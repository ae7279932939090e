#include <algorithm>

#include "quern/intersect/equal_lanes.hpp"
#include "quern/intersect/method.hpp"

namespace quern {
namespace {

/// The first block from `block` on whose greatest docID is `docid` or more, found with doubling steps.
std::size_t block_reaching(std::span<const docid_t> block_last, std::size_t block, docid_t docid) {
  if (block >= block_last.size() || block_last[block] >= docid) return block;
  std::size_t step = 1;
  while (block + step < block_last.size() && block_last[block + step] < docid) {
    block += step;
    step *= 2;
  }
  const auto from = block_last.begin() + static_cast<std::ptrdiff_t>(block) + 1;
  const auto to = block_last.begin() + static_cast<std::ptrdiff_t>(std::min(block + step + 1, block_last.size()));
  return static_cast<std::size_t>(std::lower_bound(from, to, docid) - block_last.begin());
}

/// Goes through the docIDs of one block for documents that rise.
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

void thin_out_by_blocks(std::vector<docid_t>& common, BlockReader& list) {
  const auto block_last = list.list().block_last;
  std::size_t kept = 0, i = 0, block = 0;
  while (i < common.size()) {
    block = block_last.empty() ? block : block_reaching(block_last, block, common[i]);
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

}  // namespace quern
