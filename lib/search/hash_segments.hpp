#pragma once
#include <bit>

#include "quern/formats/posting_reader.hpp"

/// The hash segmentation of Ao et al. as Wang et al. use it (Efficient GPU-based Query Processing with Pruned List
/// Caching in Search Engines, ICPADS 2017, sections 2.1.2 and 3.1.1): a list is cut into buckets, contiguous ranges of
/// docIDs of equal width, and a document is searched for only in its own bucket. The upper bits of a docID are its
/// hash.
namespace quern {

/// Upper bound of a bucket's average postings, or rows. The average is between 4 and 8, since widths are powers of two.
inline constexpr std::uint32_t bucket_postings = 8;

/// The shift for which buckets are 2^shift docIDs wide.
constexpr std::uint8_t bucket_shift(std::uint32_t num_documents, std::uint32_t df) {
  const std::uint64_t width = std::uint64_t{num_documents} * bucket_postings / (df == 0 ? 1 : df);
  const auto shift = static_cast<unsigned>(std::bit_width(width) - 1);
  return static_cast<std::uint8_t>(width == 0 ? 0 : shift < 31 ? shift : 31);
}
/// Entries of a list's directory: each bucket's first posting, and the list's end.
constexpr std::uint32_t bucket_entries(std::uint32_t num_documents, std::uint8_t shift) {
  return (num_documents >> shift) + 2;
}
/// Upper bound of bucket_entries() for `df` postings. The collection has at least `df` documents.
constexpr std::uint64_t max_bucket_entries(std::uint64_t df) { return df / 3 + 3; }

/// The block rows of a list, in buckets.
class RowBuckets {
 public:
  /// The most memory that the buckets of `rows` rows take. The collection has at least `rows` documents.
  static constexpr std::uint64_t bytes(std::uint64_t rows) {
    return sizeof(RowBuckets) + max_bucket_entries(rows) * sizeof(std::uint32_t);
  }

  RowBuckets(std::span<const docid_t> rows, docid_t num_documents)
      : rows_(rows),
        shift_(bucket_shift(num_documents, static_cast<std::uint32_t>(rows.size()))),
        starts_(bucket_entries(num_documents, shift_)) {
    std::uint32_t row = 0;
    for (std::size_t bucket = 0; bucket < starts_.size(); ++bucket) {
      while (row < rows.size() && rows[row] < std::uint64_t{bucket} << shift_) ++row;
      starts_[bucket] = row;
    }
  }

  /// As search_rows(), but within the bucket of `target`, which must be below the number of documents.
  std::size_t search(std::size_t from, docid_t target) const {
    return search_rows(rows_, std::max<std::size_t>(from, starts_[target >> shift_]), target);
  }

 private:
  std::span<const docid_t> rows_;  ///< the largest docID of each block
  std::uint8_t shift_;
  std::vector<std::uint32_t> starts_;
};

}  // namespace quern
