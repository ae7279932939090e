#pragma once
#include <algorithm>
#include <cstdint>

#include "quern/search/index_pages.hpp"
#include "quern/search/query_memory.hpp"

namespace quern {

/// Limits the memory of feature computation besides the features: hits of a query's terms in documents, and mapped
/// pages of files. Thread-safe. Unlimited by default.
class FeatureMemory {
 public:
  FeatureMemory() = default;
  /// `hit_bytes`: for the hits of all threads together. `pages`, which must outlive it, counts bytes read.
  FeatureMemory(std::uint64_t hit_bytes, unsigned threads, IndexPages& pages)
      : hits_(hit_bytes, threads), pages_(&pages) {}

  /// The budget from which hits are claimed, like a query's memory: a long document's hits are found alone.
  const QueryMemory& hits() const { return hits_; }
  /// Maximum bytes of hits found without a claim: half of a thread's share.
  std::uint64_t unclaimed_bytes() const { return hits_.max_share() / 2; }
  /// Maximum bytes of buffers that a thread keeps from one document to the next: at most the other half.
  std::uint64_t kept_bytes() const { return std::min(hits_.max_share() / 2, max_kept); }
  /// Call after reading `bytes` bytes of the forward file, or looking up a document.
  void note_read(std::uint64_t bytes) const {
    if (pages_ != nullptr) pages_->note_bytes(bytes);
  }

 private:
  static constexpr std::uint64_t max_kept = std::uint64_t{16} << 20;

  QueryMemory hits_;
  IndexPages* pages_ = nullptr;
};

inline const FeatureMemory unlimited_feature_memory;

}  // namespace quern
