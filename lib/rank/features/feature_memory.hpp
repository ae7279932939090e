#pragma once
#include <algorithm>
#include <cstdint>

#include "quern/search/index_pages.hpp"
#include "quern/search/query_memory.hpp"

namespace quern {

/// What the computation of features may keep in memory besides the features: where a query's terms are in documents,
/// and mapped pages of the files. Many threads share one. Without limits unless it is given some.
class FeatureMemory {
 public:
  FeatureMemory() = default;
  /// `hit_bytes`: for the hits of all of `threads` threads. `pages`, which must outlive it, is told what is read.
  FeatureMemory(std::uint64_t hit_bytes, unsigned threads, IndexPages& pages)
      : hits_(hit_bytes, threads), pages_(&pages) {}

  /// A document's hits are claimed here, like a query's memory: those of a long document are found alone.
  const QueryMemory& hits() const { return hits_; }
  /// Hits of so many bytes are found without a claim: half of a thread's share.
  std::uint64_t unclaimed_bytes() const { return hits_.max_share() / 2; }
  /// Buffers of more bytes do not stay with a thread from one document to the next: at most the other half.
  std::uint64_t kept_bytes() const { return std::min(hits_.max_share() / 2, max_kept); }
  /// To be called when so many bytes of the forward file were read, or a document was looked up.
  void note_read(std::uint64_t bytes) const {
    if (pages_ != nullptr) pages_->note_bytes(bytes);
  }

 private:
  static constexpr std::uint64_t max_kept = std::uint64_t{16} << 20;

  QueryMemory hits_;
  IndexPages* pages_ = nullptr;
};

/// One without limits.
inline const FeatureMemory unlimited_feature_memory;

}  // namespace quern
