#include <algorithm>

#include "quern/intersect/method.hpp"

namespace quern {

void thin_out_by_stride(std::vector<docid_t>& common, std::span<const docid_t> list,
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

}  // namespace quern
