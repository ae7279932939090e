#pragma once
#include <bit>

#include "quern/gpu/device/searches.hpp"

/// Hash segmentation (Ao et al., as Wang et al. use it: Efficient GPU-based Query Processing with Pruned List Caching
/// in Search Engines, ICPADS 2017, section 3.1.1): a list is cut into contiguous buckets of the docID space, and a
/// document is searched for in its own bucket alone. The upper bits of a docID are its hash.
namespace quern::gpu {

/// Postings of a bucket, about; a directory entry for each four to eight.
inline constexpr std::uint32_t bucket_postings = 8;

/// Buckets are 2^shift docIDs wide.
constexpr std::uint8_t bucket_shift(std::uint32_t num_documents, std::uint32_t df) {
  const std::uint64_t width = std::uint64_t{num_documents} * bucket_postings / (df == 0 ? 1 : df);
  const auto shift = static_cast<unsigned>(std::bit_width(width) - 1);
  return static_cast<std::uint8_t>(width == 0 ? 0 : shift < 31 ? shift : 31);
}
/// Entries of the directory: each bucket's first posting, and the list's end.
constexpr std::uint32_t bucket_entries(std::uint32_t num_documents, std::uint8_t shift) {
  return (num_documents >> shift) + 2;
}
/// What stands in the directory at `bucket`.
constexpr std::uint32_t bucket_start(const std::uint32_t* docids, std::uint32_t df, std::uint8_t shift,
                                     std::uint32_t bucket) {
  const std::uint64_t first = std::uint64_t{bucket} << shift;
  return first > 0xffffffffu ? df : lower_bound(docids, 0, df, static_cast<std::uint32_t>(first));
}
/// Whether the list has a document below num_documents.
constexpr bool bucket_has(const std::uint32_t* docids, std::uint32_t df, const std::uint32_t* starts,
                          std::uint8_t shift, std::uint32_t docid) {
  const std::uint32_t bucket = docid >> shift;
  const std::uint32_t place = lower_bound(docids, starts[bucket], starts[bucket + 1], docid);
  return place < df && docids[place] == docid;
}

}  // namespace quern::gpu
