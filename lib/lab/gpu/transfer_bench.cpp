#include "quern/lab/gpu/transfer_bench.hpp"

#include <unordered_set>

namespace quern {
namespace {

/// Memory for half of the lists; none stays after its copy was measured.
gpu::GpuMemoryOptions half_of_lists(gpu::ListTransfers transfers) {
  gpu::GpuMemoryOptions memory;
  memory.list_share = 0.5;
  memory.transfers = transfers;
  memory.retention = gpu::ListRetention::none;
  return memory;
}

}  // namespace

TransferBench::TransferBench(const QueryEngine& engine, unsigned gpu, gpu::ListTransfers transfers,
                             std::span<const std::vector<WeightedList>> queries, Progress& progress)
    : index_(engine, gpu, half_of_lists(transfers), progress),
      store_(index_, half_of_lists(transfers), progress),
      with_impacts_(engine.quantizer() != nullptr) {
  std::unordered_set<term_t> taken;
  for (const std::vector<WeightedList>& lists : queries)
    for (const WeightedList& each : lists)
      if (is_kept(each.list) && taken.insert(each.list.number).second) lists_.push_back(&each.list);
}

std::vector<const PostingList*> TransferBench::lists_of(std::uint64_t words) const {
  // Free memory may be fragmented.
  const std::uint64_t max_words = std::min(words, store_.cache().free_words() / 10 * 9);
  std::vector<const PostingList*> chosen;
  std::uint64_t taken = 0;
  for (const PostingList* list : lists_) {
    const std::uint64_t more = store_.cache().words_of(*list);
    if (taken + more > max_words) continue;
    taken += more;
    chosen.push_back(list);
  }
  if (chosen.empty() && !lists_.empty())
    chosen.push_back(*std::min_element(lists_.begin(), lists_.end(), [&](const PostingList* a, const PostingList* b) {
      return store_.cache().words_of(*a) < store_.cache().words_of(*b);
    }));
  return chosen;
}

TransferTime TransferBench::measure(std::uint64_t bytes, unsigned repeats) {
  std::vector<gpu::ListView> views(lists_.size());
  const std::vector<const PostingList*> chosen = lists_of(bytes / sizeof(std::uint32_t));
  std::vector<gpu::WantedList> wanted;
  std::uint64_t words = 0;
  for (const PostingList* list : chosen) {
    wanted.push_back({list, &views[wanted.size()]});
    words += store_.cache().words_of(*list);
  }
  const auto copy = [&] {
    if (!store_.acquire(0, wanted) || store_.take_counts().in_place_lists > 0)
      throw GpuOutOfMemory("the lists to copy do not all fit in the GPU's memory");
  };
  return time_copies(
      words * sizeof(std::uint32_t), repeats, copy, [&] { gpu::wait_for_copies(store_); }, [&] { store_.release(0); });
}

std::vector<std::vector<gpu::WordCopy>> TransferBench::windows_of(std::uint64_t words) const {
  std::vector<std::vector<gpu::WordCopy>> windows;
  const std::uint64_t window_words = store_.words_per_window();
  std::uint64_t in_window = window_words, left = words;
  for (const PostingList* list : lists_) {
    for (std::span<const std::uint32_t> part : {list->words, with_impacts_ ? list->impacts : WordView()}) {
      while (!part.empty() && left > 0) {
        if (in_window == window_words) {
          windows.emplace_back();
          in_window = 0;
        }
        const std::uint64_t count = std::min<std::uint64_t>({part.size(), left, window_words - in_window});
        windows.back().push_back({part.first(count), in_window});
        in_window += count;
        left -= count;
        part = part.subspan(count);
      }
    }
  }
  return windows;
}

TransferTime TransferBench::measure_windows(std::uint64_t bytes, unsigned repeats) {
  if (store_.words_per_window() == 0) throw GpuOutOfMemory("the windows to copy do not fit in the GPU's memory");
  const std::vector<std::vector<gpu::WordCopy>> windows = windows_of(bytes / sizeof(std::uint32_t));
  std::uint64_t copied = 0;
  for (const auto& window : windows)
    for (const gpu::WordCopy& part : window) copied += part.from.size_bytes();
  const auto copy = [&] {
    gpu::copy_windows(store_, windows);
    gpu::wait_for_copies(store_);
  };
  TransferTime time = time_copies(
      copied, repeats, copy, [] {}, [] {});
  time.host_us = 0;
  return time;
}

}  // namespace quern
