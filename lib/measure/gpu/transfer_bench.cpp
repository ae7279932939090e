#include "quern/measure/gpu/transfer_bench.hpp"

#include <algorithm>
#include <unordered_set>

#include "quern/core/wall_clock.hpp"
#include "quern/measure/measurement.hpp"

namespace quern {
namespace {

/// Memory for half of the lists, of which none stays after its copy was measured.
gpu::GpuMemoryOptions half_of_lists() {
  gpu::GpuMemoryOptions memory;
  memory.list_share = 0.5;
  memory.retention = gpu::ListRetention::none;
  return memory;
}

}  // namespace

ListTransfers::ListTransfers(const QueryEngine& engine, unsigned gpu,
                             std::span<const std::vector<WeightedList>> queries, Progress& progress)
    : index_(engine, gpu, half_of_lists(), progress), store_(index_, half_of_lists(), progress) {
  std::unordered_set<term_t> taken;
  for (const std::vector<WeightedList>& lists : queries)
    for (const WeightedList& each : lists)
      if (is_kept(each.list) && taken.insert(each.list.number).second) lists_.push_back(&each.list);
}

std::vector<const PostingList*> ListTransfers::lists_of(std::uint64_t words) const {
  // What is free may be in pieces.
  const std::uint64_t most_words = std::min(words, store_.cache().free_words() / 10 * 9);
  std::vector<const PostingList*> chosen;
  std::uint64_t taken = 0;
  for (const PostingList* list : lists_) {
    const std::uint64_t more = store_.cache().words_of(*list);
    if (taken + more > most_words) continue;
    taken += more;
    chosen.push_back(list);
  }
  if (chosen.empty() && !lists_.empty())
    chosen.push_back(*std::min_element(lists_.begin(), lists_.end(), [&](const PostingList* a, const PostingList* b) {
      return store_.cache().words_of(*a) < store_.cache().words_of(*b);
    }));
  return chosen;
}

TransferTime ListTransfers::measure(std::uint64_t bytes, unsigned repeats) {
  std::vector<gpu::ListView> views(lists_.size());
  const std::vector<const PostingList*> chosen = lists_of(bytes / sizeof(std::uint32_t));
  std::vector<gpu::WantedList> wanted;
  std::uint64_t words = 0;
  for (const PostingList* list : chosen) {
    wanted.push_back({list, &views[wanted.size()]});
    words += store_.cache().words_of(*list);
  }
  TransferTime time;
  time.bytes = words * sizeof(std::uint32_t);
  std::vector<double> us, host_us;
  for (unsigned repeat = 0; repeat <= repeats; ++repeat) {
    const auto begun = WallClock::now();
    if (!store_.acquire(0, wanted)) throw GpuOutOfMemory("the lists whose copying is measured do not fit together");
    const double host = us_since(begun);
    gpu::wait_for_copies(store_);
    const double all = us_since(begun);
    store_.release(0);
    if (repeat == 0) continue;  // the warm-up
    us.push_back(all);
    host_us.push_back(host);
  }
  time.us = median(us);
  time.host_us = median(host_us);
  return time;
}

}  // namespace quern
