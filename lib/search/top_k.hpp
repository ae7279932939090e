#pragma once
#include <bit>

#include "quern/core/types.hpp"

namespace quern {

struct ScoredDocument {
  docid_t docid = 0;
  float score = 0;
  bool operator==(const ScoredDocument&) const = default;
};

/// Keeps the k best of the added documents, in any order: higher scores rank first, ties by lower docID. A small k uses
/// a heap. A large one uses an array of up to 2k documents that is cut back to little more than k whenever it is full,
/// which costs less than a heap; worst() then lags a little behind. Scores are not negative.
class TopK {
 public:
  /// `candidates`: maximum number of documents that can be added.
  TopK(std::size_t k, std::uint64_t candidates) : k_(k), capacity_(k <= max_in_heap ? k : 2 * k) {
    // Reserved up front, since a growing array takes up to three times its size.
    kept_.reserve(std::min<std::uint64_t>(capacity_, candidates));
  }

  /// Maximum bytes of the collection while it is sorted; its results take less.
  static std::uint64_t bytes(std::size_t k, std::uint64_t candidates) {
    return 2 * std::min<std::uint64_t>(2 * k, candidates) * sizeof(Key);
  }

  // GCC otherwise inlines it or not as the rest of a source grows: 2 % of an intersection's instructions.
  [[gnu::always_inline]] void add(docid_t docid, float score) {
    const Key key = key_of(docid, score);
    if (full_ && key > worst_) return;
    if (k_ <= max_in_heap) {
      add_to_heap(key);
    } else {
      kept_.push_back(key);
      if (kept_.size() == (full_ ? capacity_ : k_)) cut();
    }
  }

  /// Adds n documents, with fewer branches if there is no heap.
  void add(const docid_t* docids, const float* scores, std::size_t n) {
    if (k_ <= max_in_heap) {
      for (std::size_t i = 0; i < n; ++i) add(docids[i], scores[i]);
      return;
    }
    for (std::size_t i = 0; i < n;) {
      const std::size_t before = kept_.size(), limit = full_ ? capacity_ : k_;
      const std::size_t end = std::min(n, i + limit - before);
      kept_.resize(before + end - i);
      Key* kept = kept_.data() + before;
      const Key worst = full_ ? worst_ : ~Key{0};
      for (; i < end; ++i) {
        *kept = key_of(docids[i], scores[i]);
        kept += *kept <= worst;
      }
      kept_.resize(static_cast<std::size_t>(kept - kept_.data()));
      if (kept_.size() == limit) cut();
    }
  }

  void clear() {
    kept_.clear();
    full_ = false;
  }
  /// Whether k documents were added.
  bool full() const { return full_; }
  /// If full: a document that ranks no better than the worst of the k best.
  ScoredDocument worst() const { return document_of(worst_); }
  std::size_t k() const { return k_; }

  /// The results, best first; empties the collection.
  std::vector<ScoredDocument> take();

 private:
  /// Score and docID in one number, lower for documents that rank better: the bits of non-negative floats are ordered
  /// as the floats are.
  using Key = std::uint64_t;
  static Key key_of(docid_t docid, float score) { return Key{~std::bit_cast<std::uint32_t>(score)} << 32 | docid; }
  static ScoredDocument document_of(Key key) {
    return {static_cast<docid_t>(key), std::bit_cast<float>(~static_cast<std::uint32_t>(key >> 32))};
  }

  void add_to_heap(Key key) {
    if (full_) {
      replace_worst(key);
    } else {
      kept_.push_back(key);
      std::push_heap(kept_.begin(), kept_.end());
      full_ = kept_.size() == k_;
    }
    worst_ = kept_.front();
  }

  /// Replaces the heap's greatest key: one way down, without a branch on which child is greater.
  void replace_worst(Key key) {
    std::size_t place = 0;
    for (std::size_t child; (child = 2 * place + 1) < k_; place = child) {
      child += child + 1 < k_ && kept_[child + 1] > kept_[child];
      if (kept_[child] <= key) break;
      kept_[place] = kept_[child];
    }
    kept_[place] = key;
  }

  /// Cuts at least k documents back to the k best, and few more.
  void cut();

  static constexpr std::size_t max_in_heap = 64;

  std::size_t k_, capacity_;
  bool full_ = false;
  Key worst_ = 0;
  std::vector<Key> kept_;
};

/// Merges a shard's results into those of earlier shards, which have lower docIDs, and keeps the k best. `added` is
/// sorted, best first, with docIDs relative to `first_docid`.
void add_results_of_shard(std::vector<ScoredDocument>& best, std::span<const ScoredDocument> added, docid_t first_docid,
                          std::size_t k);

}  // namespace quern
