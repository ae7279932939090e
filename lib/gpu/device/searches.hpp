#pragma once
#include <cstdint>

/// Searches by one thread. Host and device share them, so that host tests run what kernels run. Whatever the numbers
/// are, they stay within the given bounds.
namespace quern::gpu {

/// The first of [begin, end) that is not below `docid`; `end` if there is none, `begin` if the range is empty.
constexpr std::uint32_t lower_bound(const std::uint32_t* docids, std::uint32_t begin, std::uint32_t end,
                                    std::uint32_t docid) {
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (docids[middle] < docid)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

/// The last i below `count` for which first(i) is not above `number`. first(i) never falls; 0 if count is 0, or if
/// first(0) is above. The lists of a batch are found so by the number of a block among all of their blocks.
template <class Number, class First>
constexpr std::uint32_t last_not_above(std::uint32_t count, Number number, First&& first) {
  std::uint32_t found = 0;
  while (count > 1) {
    const std::uint32_t half = count / 2;
    if (first(found + half) <= number) found += half;
    count -= half;
  }
  return found;
}

}  // namespace quern::gpu
