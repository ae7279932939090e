#include <algorithm>

#include "quern/intersect/method.hpp"

namespace quern {

void thin_out_by_galloping(std::vector<docid_t>& common, std::span<const docid_t> list, const IntersectionOptions&) {
  std::size_t place = 0, kept = 0;
  for (const docid_t docid : common) {
    std::size_t step = 1;
    while (place + step < list.size() && list[place + step] < docid) {
      place += step;
      step *= 2;
    }
    // What lies before `place` is less than the document, what lies behind the last step is not.
    const auto from = list.begin() + static_cast<std::ptrdiff_t>(place);
    const auto to = list.begin() + static_cast<std::ptrdiff_t>(std::min(place + step + 1, list.size()));
    const auto found = std::lower_bound(from, to, docid);
    if (found == list.end()) break;
    place = static_cast<std::size_t>(found - list.begin());
    if (*found == docid) common[kept++] = docid;
  }
  common.resize(kept);
}

}  // namespace quern
