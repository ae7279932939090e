#pragma once
#include <cstdint>
#include <span>

#include "quern/core/error.hpp"

namespace quern {

/// Checks that an encoder's caller keeps the contract of ListEncoder: full blocks, then perhaps one shorter, with the
/// same number of postings in both passes. One per pass.
class BlockOrder {
 public:
  explicit BlockOrder(unsigned block_size) : block_size_(block_size) {}

  void restart() {
    postings_ = 0;
    ended_ = false;
  }

  /// Throws InvalidArgument for a block that can't come next.
  void accept(std::span<const std::uint32_t> gaps, std::span<const std::uint32_t> freqs) {
    if (gaps.size() != freqs.size() || gaps.empty() || gaps.size() > block_size_)
      throw InvalidArgument("a block to be coded must hold 1 to block_size gaps and as many frequencies");
    if (ended_) throw InvalidArgument("only the last block of a list may be shorter than the block size");
    ended_ = gaps.size() < block_size_;
    postings_ += gaps.size();
  }

  std::uint64_t postings() const { return postings_; }

 private:
  unsigned block_size_;
  std::uint64_t postings_ = 0;
  bool ended_ = false;
};

}  // namespace quern
