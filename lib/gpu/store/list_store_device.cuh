#pragma once
#include <tbb/task_group.h>

#include "quern/gpu/store/list_store.hpp"
#include "quern/gpu/store/word_mover.cuh"

namespace quern::gpu {

struct DeviceListStore::Device {
  /// Half of the room for windows; windows use the two halves in turn.
  struct Half {
    CudaEvent copied, done;
    std::uint64_t first_word = 0;  ///< in the arena
  };

  DeviceArray<std::uint32_t> words, block_last, block_offset;
  DeviceArray<std::uint16_t> block_max;
  std::optional<WordMover> mover;
  CudaEvent all_copied;                              ///< after the last copy so far, all in one stream
  std::array<StepClock, batches_in_flight> copying;  ///< of missing lists, by flight
  std::array<Half, 2> halves;
  std::size_t next_half = 0;

  void set(IndexView& view) const;
  /// Makes later work in `waiting` wait for all copies so far.
  void make_wait(const CudaStream& waiting) const;
  void copy(const ListCopies& copies);
  /// The half for the next window. Words may be copied to it at once, and read from `copied` until `done`, which must
  /// be recorded after the window's last kernel.
  Half& take_half() { return halves[next_half++ % halves.size()]; }
  void copy_window(std::span<const WordCopy> copies, std::uint64_t count, const Half& half);
  /// Thread blocks that other kernels must leave free for copies.
  unsigned moving_blocks() const { return mover->reads_directly() ? blocks_of_movers : 0; }
  /// The place of words in host memory, relative to the arena's first word; empty if kernels can't read them.
  std::optional<std::uint64_t> place_of(WordView host_words) const;
  /// Enclose the copies of a flight's missing lists.
  void begin_copies(unsigned flight);
  void end_copies();
};

/// Runs `count` windows, at least one, whose words go to the two halves of the store's room in turn. Calls make(window,
/// slot, first word of its half) in another thread while the previous window is copied and enqueued, then run(slot,
/// half) in this thread, for slots 0 and 1 in turn. Throws what these throw.
template <class Make, class Run>
void run_in_turn(DeviceListStore::Device& device, unsigned flight, std::size_t count, const Make& make,
                 const Run& run) {
  device.begin_copies(flight);
  std::array<DeviceListStore::Device::Half*, 2> halves = {&device.take_half(), nullptr};
  make(std::size_t{0}, 0u, halves[0]->first_word);
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned slot = i % 2, next = 1 - slot;
    tbb::task_group making_next;
    if (i + 1 < count) {
      halves[next] = &device.take_half();
      making_next.run([&] { make(i + 1, next, halves[next]->first_word); });
    }
    try {
      run(slot, *halves[slot]);
    } catch (...) {
      making_next.wait();
      throw;
    }
    making_next.wait();
  }
  device.end_copies();
}

}  // namespace quern::gpu
