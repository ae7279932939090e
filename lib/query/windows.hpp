#pragma once
#include <algorithm>
#include <bit>

#include "quern/core/types.hpp"

namespace quern {

/// The documents of a collection, cut into windows of one size that are looked at together: scores gather in an array
/// that stays in the caches. Block maxima bound a window the better the smaller it is, but each window has its price;
/// some 300 windows were best for collections of 46,000 and of 2.5 million documents.
class Windows {
 public:
  static constexpr docid_t min_size = 512, max_size = 16384;

  /// `least` is a power of two up to max_size.
  explicit Windows(docid_t num_documents, docid_t least = min_size)
      : num_documents_(num_documents),
        shift_(static_cast<unsigned>(
            std::countr_zero(std::clamp(std::bit_floor(num_documents / 256 + 1), least, max_size)))) {}

  docid_t size() const { return docid_t{1} << shift_; }
  std::size_t count() const { return (std::size_t{num_documents_} + size() - 1) >> shift_; }
  std::size_t of(docid_t docid) const { return docid >> shift_; }
  docid_t begin(std::size_t window) const { return static_cast<docid_t>(window << shift_); }
  /// Behind the window's last document.
  docid_t end(std::size_t window) const { return begin(window) + std::min(size(), num_documents_ - begin(window)); }

 private:
  docid_t num_documents_;
  unsigned shift_;
};

}  // namespace quern
