#pragma once
#include <tbb/task_group.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "quern/gpu/store/list_store_device.cuh"

/// What ranked queries and intersections share of going through windows of documents. For CUDA sources only.
namespace quern::gpu {

/// Runs `count` windows, at least one, whose words go to the halves of the store's room in turn. What a window needs is
/// made in another thread while the one before is copied and enqueued: make(window, slot, first word of its half), then
/// run(slot, half) in this thread, for slots 0 and 1 in turn. Throws what these throw.
template <class Make, class Run>
void run_in_turn(ListStore::Device& device, unsigned flight, std::size_t count, const Make& make, const Run& run) {
  device.begin_copies(flight);
  std::array<ListStore::Device::Half*, 2> halves = {&device.take_half(), nullptr};
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
