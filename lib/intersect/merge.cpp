#include "quern/intersect/method.hpp"

namespace quern {

void thin_out_by_merging(std::vector<docid_t>& common, std::span<const docid_t> list, const IntersectionOptions&) {
  std::size_t i = 0, j = 0, kept = 0;
  while (i < common.size() && j < list.size()) {
    // No branch: which of the two is less can't be foretold.
    const docid_t a = common[i], b = list[j];
    common[kept] = a;
    kept += a == b ? 1 : 0;
    i += a <= b ? 1 : 0;
    j += b <= a ? 1 : 0;
  }
  common.resize(kept);
}

}  // namespace quern
