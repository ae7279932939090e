#pragma once
#include <atomic>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/store/extents.hpp"
#include "quern/gpu/store/move_words.cuh"

/// Words of a mapped file that GPUs read in place. For CUDA sources only.
namespace quern::gpu {

/// Pinned words of a mapped file, which kernels on all GPUs may read by their host addresses. Only whole pages are
/// pinned, so that neighbouring words can be pinned separately.
class PinnedWords {
 public:
  /// Pins the words, which loads them from the file, or shares an existing pin. Null if the current GPU can't read
  /// mapped files or the system refuses to pin the memory.
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

/// Moves words in its own stream, concurrently with kernels of other streams. Host threads gather words in pinned
/// staging buffers; words of pinned files are read in place. A kernel then moves both to their places, since a separate
/// copy for each list would take longer than its bytes. For one thread at a time.
class WordMover {
 public:
  WordMover() = default;
  /// Each of staging_buffers takes `buffer_bytes` on the host and on the GPU. Throws GpuOutOfMemory.
  WordMover(MemoryAccount& account, MemoryAccount& pinned, std::uint64_t buffer_bytes);

  /// From now on, reads these words in place.
  void read_directly(std::vector<std::shared_ptr<const PinnedWords>> pinned) { pinned_ = std::move(pinned); }
  bool reads_directly() const { return !pinned_.empty(); }
  /// Whether kernels may read these bytes in place.
  bool is_pinned(const void* from, std::size_t bytes) const;

  /// Adds bytes to be moved to `to`, which is aligned to words, and free after the event `places_free`; null: free now.
  /// They move when buffers are full, or with send().
  void add(const void* from, std::size_t bytes, std::uint32_t* to, const CudaEvent* places_free = nullptr);
  /// Moves all bytes that were added.
  void send();
  /// Makes copies to `to`, which they fill without gaps: `words` words in all. `places_free` as in add().
  void move_copies(std::span<const WordCopy> copies, std::uint64_t words, std::uint32_t* to,
                   const CudaEvent& places_free);

  /// From now on, copies are steps of this clock; null: of no clock.
  void time_with(StepClock* clock) { clock_ = clock; }
  const CudaStream& stream() const { return stream_; }
  /// Bytes staged so far. Thread-safe.
  std::uint64_t staged_bytes() const { return staged_bytes_; }
  /// Bytes read in place since the last call. Thread-safe.
  std::uint64_t take_direct_bytes() { return direct_bytes_.exchange(0); }

 private:
  static constexpr std::size_t record_words = sizeof(MovedWords) / sizeof(std::uint32_t);

  /// A staging buffer in pinned memory and on the GPU: the number of the next item to move, padded to the size of a
  /// table record; the table of items; then their words.
  struct Buffer {
    PinnedArray<std::uint32_t> host;
    DeviceArray<std::uint32_t> device;
    CudaEvent table_copied, done;
  };
  /// Bytes to be gathered in the buffer from its word `to` on.
  struct Staged {
    const void* from = nullptr;
    std::size_t bytes = 0, to = 0;
  };

  std::size_t words_in_buffer() const { return buffers_[0].host.size(); }
  template <class Array>
  static MovedWords* table_of(const Array& buffer) {
    return reinterpret_cast<MovedWords*>(buffer.data() + record_words);
  }
  /// The first word after a buffer's table.
  std::size_t first_word() const { return (1 + max_items_) * record_words; }
  /// Items that fit a buffer without staged words.
  std::size_t items_in_buffer() const { return words_in_buffer() / record_words - 1; }
  /// The next buffer, after waiting for its last transfer.
  Buffer& next_buffer();
  bool is_pinned(const WordCopy& copy) const { return is_pinned(copy.from.data(), copy.from.size_bytes()); }
  /// Enqueues copies, as a step of the clock.
  template <class Enqueue>
  void timed(const Enqueue& enqueue) {
    if (clock_ != nullptr) clock_->begin(stream_);
    enqueue();
    if (clock_ != nullptr) clock_->end(stream_);
  }
  void move(Buffer& buffer, std::size_t items, std::size_t blocks);
  /// move_copies() where nearly all words are pinned.
  void move_pinned(std::span<const WordCopy> copies, std::uint64_t words, std::uint32_t* to,
                   const CudaEvent& places_free);
  /// Writes items [begin, end) of pinned copies to a table, in parallel.
  void write_table(std::span<const WordCopy> copies, std::size_t begin, std::size_t end, std::uint32_t* to,
                   MovedWords* table) const;

  std::array<Buffer, staging_buffers> buffers_;
  std::size_t max_items_ = 0;  ///< of a buffer's table
  std::size_t next_ = 0;       ///< buffer
  Buffer* filled_ = nullptr;   ///< the buffer that is being filled
  std::size_t num_items_ = 0;  ///< in its table
  std::size_t end_ = 0;        ///< after its last word
  std::uint64_t direct_words_ = 0;
  const CudaEvent* places_free_ = nullptr;
  std::vector<Staged> staged_;
  std::vector<std::size_t> first_item_;  ///< per copy, the number of its first item; then the end
  std::vector<std::shared_ptr<const PinnedWords>> pinned_;
  CudaStream tables_{CudaStream::Priority::high};  ///< copies tables while another buffer's items are moved
  std::atomic<std::uint64_t> staged_bytes_ = 0, direct_bytes_ = 0;
  StepClock* clock_ = nullptr;
  CudaStream stream_{CudaStream::Priority::high};
};

}  // namespace quern::gpu
