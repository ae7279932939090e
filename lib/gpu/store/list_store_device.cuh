#pragma once
#include <array>
#include <optional>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/device/index_view.hpp"
#include "quern/gpu/device/step_clock.cuh"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/list_store.hpp"
#include "quern/gpu/store/word_mover.cuh"

namespace quern::gpu {

struct ListStore::Device {
  /// Half of the room for windows, which every other window gets.
  struct Half {
    Event copied, done;
    std::uint64_t first_word = 0;  ///< in the arena
  };

  DeviceArray<std::uint32_t> words, block_last, block_offset;
  DeviceArray<std::uint16_t> block_max;
  std::optional<WordMover> mover;
  Event all_copied;                                  ///< the last copy so far; all are in one stream
  std::array<StepClock, batches_in_flight> copying;  ///< what a flight lacked, by flight
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
  /// Thread blocks whose place copies need beside other kernels.
  unsigned moving_blocks() const { return mover->reads_directly() ? blocks_of_movers : 0; }
  /// Where words of the host's memory are, counted from the arena's first word; nothing if kernels can't read them.
  std::optional<std::uint64_t> place_of(WordView of_host) const;
  /// Enclose the copies of what a flight lacks.
  void begin_copies(unsigned flight);
  void end_copies();
};

}  // namespace quern::gpu
