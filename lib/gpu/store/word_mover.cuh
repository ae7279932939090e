#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/device/memory_division.hpp"
#include "quern/gpu/store/extents.hpp"
#include "quern/gpu/store/move_words.cuh"

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

// How words of the host's memory come to their places on a GPU. For CUDA sources only.

/// Moves words in a stream of its own, beside kernels of other streams. They travel in pieces of pinned memory, in
/// which threads of the host gather them; words of pinned files are read where they are instead. A kernel moves both to
/// their places, since a copy of each part would take longer than its bytes. Used by one thread at a time.
class WordMover {
 public:
  WordMover() = default;
  /// Each of staging_pieces takes `piece_bytes` on the host and on the GPU. Throws GpuOutOfMemory.
  WordMover(MemoryAccount& account, MemoryAccount& pinned, std::uint64_t piece_bytes);

  /// Reads these words directly from now on.
  void read_directly(std::vector<std::shared_ptr<const PinnedWords>> pinned) { pinned_ = std::move(pinned); }
  bool reads_directly() const { return !pinned_.empty(); }
  /// Whether kernels may read these bytes where they are.
  bool is_pinned(const void* from, std::size_t bytes) const;

  /// Adds bytes that are to be moved to a place, which is aligned to words. The place is free once `places_free` has
  /// been reached; null: now.
  void add(const void* from, std::size_t bytes, std::uint32_t* to, const CudaEvent* places_free = nullptr);
  /// Moves all that was added, at the latest.
  void send();
  /// Copies the words of all parts to places that follow each other.
  void move_parts(std::span<const WordPart> parts, std::uint64_t words, std::uint32_t* to,
                  const CudaEvent& places_free);

  /// Copies are steps of this clock from now on; null: of none.
  void time_with(StepClock* clock) { clock_ = clock; }
  const CudaStream& stream() const { return stream_; }
  /// What was staged so far. Thread-safe.
  std::uint64_t staged_bytes() const { return staged_bytes_; }
  /// What was read directly since the last call. Thread-safe.
  std::uint64_t take_direct_bytes() { return direct_bytes_.exchange(0); }

 private:
  static constexpr std::size_t words_per_run = sizeof(MovedWords) / sizeof(std::uint32_t);

  /// A piece of staging memory, in pinned memory and on the GPU: the number of the next run that is to be moved, in as
  /// many words as a run takes in the table; the table of what is in the piece; then the words.
  struct Piece {
    PinnedArray<std::uint32_t> host;
    DeviceArray<std::uint32_t> device;
    CudaEvent table_copied, done;
  };
  /// Bytes that are to be gathered in the piece, from its `to`-th word on.
  struct Staged {
    const void* from = nullptr;
    std::size_t bytes = 0, to = 0;
  };

  std::size_t words_in_piece() const { return pieces_[0].host.size(); }
  template <class Array>
  static MovedWords* table_of(const Array& piece) {
    return reinterpret_cast<MovedWords*>(piece.data() + words_per_run);
  }
  /// The first word behind a piece's table.
  std::size_t first_word() const { return (1 + max_runs_) * words_per_run; }
  /// Runs that fit into a piece which has nothing but its table.
  std::size_t runs_in_piece() const { return words_in_piece() / words_per_run - 1; }
  /// The next piece, once nothing is on its way in it.
  Piece& next_piece();
  bool is_pinned(const WordPart& part) const { return is_pinned(part.from.data(), part.from.size_bytes()); }
  /// Enqueues copies, as a step of the clock.
  template <class Enqueue>
  void timed(const Enqueue& enqueue) {
    if (clock_ != nullptr) clock_->begin(stream_);
    enqueue();
    if (clock_ != nullptr) clock_->end(stream_);
  }
  /// Moves what the piece's table says.
  void move(Piece& piece, std::size_t runs, std::size_t blocks);
  /// As move_parts(), of which nearly all are pinned.
  void move_pinned(std::span<const WordPart> parts, std::uint64_t words, std::uint32_t* to,
                   const CudaEvent& places_free);
  /// Writes the runs of pinned parts, from number `begin` up to `end`, to a table, in many threads.
  void write_table(std::span<const WordPart> parts, std::size_t begin, std::size_t end, std::uint32_t* to,
                   MovedWords* table) const;

  std::array<Piece, staging_pieces> pieces_;
  std::size_t max_runs_ = 0;  ///< of a piece's table
  std::size_t next_ = 0;      ///< piece
  Piece* filled_ = nullptr;   ///< the piece that is being filled
  std::size_t runs_ = 0;      ///< in its table
  std::size_t end_ = 0;       ///< behind its last word
  std::uint64_t direct_words_ = 0;
  const CudaEvent* places_free_ = nullptr;
  std::vector<Staged> staged_;
  std::vector<std::size_t> first_run_;  ///< of each part that is moved, and the end
  std::vector<std::shared_ptr<const PinnedWords>> pinned_;
  CudaStream tables_{CudaStream::Priority::high};  ///< whose copies go beside the moving of other pieces
  std::atomic<std::uint64_t> staged_bytes_ = 0, direct_bytes_ = 0;
  StepClock* clock_ = nullptr;
  CudaStream stream_{CudaStream::Priority::high};
};

}  // namespace quern::gpu
