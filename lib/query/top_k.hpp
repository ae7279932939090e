#pragma once
#include <algorithm>
#include <vector>

#include "quern/core/types.hpp"

namespace quern {

struct ScoredDocument {
  docid_t docid = 0;
  float score = 0;
  bool operator==(const ScoredDocument&) const = default;
};

/// The order of results: greater scores first, ties by lower docID.
inline bool ranks_before(const ScoredDocument& a, const ScoredDocument& b) {
  return a.score > b.score || (a.score == b.score && a.docid < b.docid);
}

/// Keeps the k best of the documents that it is shown, in any order of showing: ties at the cut go to lower docIDs.
class TopK {
 public:
  explicit TopK(std::size_t k) : k_(k) { heap_.reserve(std::min<std::size_t>(k, 1 << 16)); }

  void add(docid_t docid, float score) {
    const ScoredDocument document{docid, score};
    if (heap_.size() < k_) {
      heap_.push_back(document);
      std::push_heap(heap_.begin(), heap_.end(), ranks_before);
    } else if (ranks_before(document, heap_.front())) {
      std::pop_heap(heap_.begin(), heap_.end(), ranks_before);
      heap_.back() = document;
      std::push_heap(heap_.begin(), heap_.end(), ranks_before);
    }
  }

  void clear() { heap_.clear(); }
  bool full() const { return heap_.size() == k_; }
  /// Of the worst of the kept, once full: a document met later must beat it, since its docID is greater.
  float threshold() const { return heap_.front().score; }
  std::size_t k() const { return k_; }

  /// The results, best first; empties the collection.
  std::vector<ScoredDocument> take() {
    std::sort_heap(heap_.begin(), heap_.end(), ranks_before);
    return std::move(heap_);
  }

 private:
  std::size_t k_;
  std::vector<ScoredDocument> heap_;  ///< the worst of the kept at the front
};

}  // namespace quern
