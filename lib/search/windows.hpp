#pragma once
#include <algorithm>
#include <bit>

#include "quern/core/types.hpp"
#include "quern/search/candidates.hpp"

/// Windows of documents that are processed together, and the scores of the documents in one of them.
namespace quern {

/// The documents of a collection, cut into windows of equal size that are processed together: their scores gather in an
/// array that stays in the caches. Upper bounds from block maxima are tighter in small windows, but each window has a
/// fixed cost.
class Windows {
 public:
  static constexpr docid_t min_size = 512, max_size = 16384;

  /// `size`: rounded down to a power of two, at least min_size and at most max_size.
  Windows(docid_t num_documents, std::uint64_t size)
      : num_documents_(num_documents),
        shift_(static_cast<unsigned>(
            std::countr_zero(std::bit_floor(std::clamp<std::uint64_t>(size, min_size, max_size))))) {}

  docid_t num_documents() const { return num_documents_; }
  docid_t size() const { return docid_t{1} << shift_; }
  std::size_t count() const { return (std::size_t{num_documents_} + size() - 1) >> shift_; }
  /// Of a document of the collection: others have none.
  std::size_t of(docid_t docid) const { return docid >> shift_; }
  docid_t begin(std::size_t window) const { return static_cast<docid_t>(window << shift_); }
  /// One past the window's last document.
  docid_t end(std::size_t window) const { return begin(window) + std::min(size(), num_documents_ - begin(window)); }

 private:
  docid_t num_documents_;
  unsigned shift_;
};

/// The scores of one window's documents. Documents that none of the lists added so far contains have a mark that is
/// below all scores.
class WindowScores {
 public:
  /// `nothing` is the mark.
  WindowScores(const Windows& windows, float nothing) : nothing_(nothing), scores_(windows.size()) {}

  float* data() {
    if (!is_filled_) std::fill_n(scores_.get(), scores_.size(), nothing_);
    is_filled_ = true;
    return scores_.get();
  }
  /// Replaces `found` by the documents of the window [begin, end) with scores above `min` (which is at least the mark),
  /// in docID order, and sets all scores to the mark.
  void take_above(float min, docid_t begin, docid_t end, Candidates& found) {
    found.resize(query_kernels().take_above(data(), end - begin, begin, min, nothing_, found.from(0)));
  }

 private:
  float nothing_;
  bool is_filled_ = false;  ///< once they are used: many queries add up no window
  ScratchArray<float> scores_;
};

}  // namespace quern
