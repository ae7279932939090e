#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

/// Parts of a mapped file that GPUs read where they are. For CUDA sources only.
namespace quern::gpu {

/// Words of a mapped file, pinned: kernels on all GPUs may read them by the addresses that they have on the host. Only
/// whole pages are pinned, so that what is next to the words can be, too.
class PinnedWords {
 public:
  /// Pins them, or shares them with others who have. That loads them from the file, if they are not in memory. Null if
  /// the current GPU can't read a mapped file, or the system does not let so much be pinned.
  static std::shared_ptr<const PinnedWords> pin(std::span<const std::uint32_t> mapped);
  PinnedWords(const PinnedWords&) = delete;
  PinnedWords& operator=(const PinnedWords&) = delete;
  ~PinnedWords();

  /// Whether GPUs may read these bytes.
  bool contain(const void* from, std::size_t bytes) const {
    const auto* begin = static_cast<const std::byte*>(from);
    return begin >= pages_.data() && bytes <= pages_.size() &&
           begin - pages_.data() <= static_cast<std::ptrdiff_t>(pages_.size() - bytes);
  }

 private:
  explicit PinnedWords(std::span<const std::byte> pages) : pages_(pages) {}
  bool register_pages();

  std::span<const std::byte> pages_;
  std::size_t registered_ = 0;  ///< bytes, from the first on
};

}  // namespace quern::gpu
