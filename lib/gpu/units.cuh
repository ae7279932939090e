#pragma once
#include <cstdint>

/// Entries: a posting's docID within its range in the upper 16 bits, its value in the lower ones.
namespace quern::gpu {

/// Units of an entry's value.
__device__ inline std::uint32_t units_of(std::uint32_t entry, std::uint32_t weight, std::uint32_t more) {
  return __umulhi(entry << 16, weight) + more;
}

/// The first of a range's entries in [begin, end) that is not before `place`; `end` where there is none.
__device__ inline std::uint32_t find_place(const std::uint32_t* entries, std::uint32_t begin, std::uint32_t end,
                                           std::uint32_t place) {
  while (begin < end) {
    const std::uint32_t middle = begin + (end - begin) / 2;
    if (entries[middle] >> 16 < place)
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

}  // namespace quern::gpu
