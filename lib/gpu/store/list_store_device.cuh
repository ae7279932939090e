#pragma once
#include <array>
#include <vector>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/store/list_store.hpp"
#include "quern/gpu/store/word_parts.hpp"

namespace quern::gpu {

/// Words that a kernel moves from a piece of staging memory to their place.
struct StagedWords {
  std::uint32_t* to = nullptr;
  std::uint32_t from = 0;  ///< in the piece
  std::uint32_t words = 0;
};

struct ListStore::Device {
  /// A piece of staging memory, in pinned memory and on the GPU: first the table of what is in it, then the words.
  struct Piece {
    PinnedArray<std::uint32_t> host;
    DeviceArray<std::uint32_t> device;
    Event done;
  };
  /// The copies of a flight's last acquire().
  struct Flight {
    Event begun, copied;
    bool copies = false;  ///< whether there were any
  };

  /// Bytes that are to be copied to a place that is aligned to words.
  struct Run {
    const void* from = nullptr;
    std::size_t bytes = 0;
    std::uint32_t* to = nullptr;
  };

  /// Half of the room for windows, which every other window gets.
  struct Half {
    Event copied, done;
    std::uint64_t first_word = 0;  ///< in the arena
  };

  DeviceArray<std::uint32_t> words, block_last, block_offset;
  DeviceArray<std::uint16_t> block_max;
  std::array<Piece, staging_pieces> pieces;
  std::size_t piece_words = 0, max_runs = 0, next_piece = 0;
  Stream stream;
  Event all_copied;  ///< the last copy so far; all are in one stream
  std::array<Flight, batches_in_flight> flights;
  std::array<Half, 2> halves;
  std::size_t next_half = 0;

  /// Points a view of the index to the arenas.
  void set(IndexView& view) const;
  /// What is enqueued in `waiting` later waits for all copies so far.
  void make_wait(const Stream& waiting) const;
  void copy(const ListCopies& copies);
  /// The half for the next window. Its words may be copied there at once, and used from `copied` on until `done`, which
  /// the window's last kernel is to be followed by.
  Half& take_half() { return halves[next_half++ % halves.size()]; }
  void copy_window(std::span<const WordPart> parts, std::uint64_t count, const Half& half);
  /// Enclose the copies of a flight's windows.
  void begin_copies(unsigned flight);
  void end_copies(unsigned flight);
  void copy_runs(std::vector<Run> runs);
  void send_piece(std::span<const Run> runs);
  /// The words of a piece, behind its table.
  std::size_t first_word() const { return max_runs * sizeof(StagedWords) / sizeof(std::uint32_t); }
};

}  // namespace quern::gpu
