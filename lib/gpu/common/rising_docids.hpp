#pragma once
#include <cstdint>

/// Searches in rising docIDs. Host and device share them, so that host tests run what kernels run; they stay within
/// the given bounds whatever stands there.
namespace quern::gpu {

/// The first of [begin, end) that is not below `docid`; `end` where there is none, `begin` where the range is empty.
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

}  // namespace quern::gpu
