#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/document_windows.hpp"
#include "quern/gpu/worker/query_batch.hpp"
#include "quern/gpu/worker/sort_keys.cuh"

#include "gpu/host_index.hpp"

/// Batches processed in windows of documents by an emulated GPU: include gpu/emulated_gpu.hpp first.
namespace quern::testing {

/// Windows for the parts of a batch's lists that are not in a cache's fronts, with random limits.
class HostWindows {
 public:
  HostWindows(gpu::ListCache& cache, const gpu::QueryBatch& batch, RandomBits& random) {
    const IndexReader& index = batch.engine().index();
    room_ = cache.windows();
    gpu::WindowLimits limits{room_.words / 2, ~std::uint64_t{0}, 1};
    const gpu::WindowLimits least = gpu::DocumentWindows(index, batch.batch_lists(), cache, limits).largest();
    limits.words = least.words + random.below(2 * least.words + 1);
    limits.entries = least.entries + random.below(2 * least.entries);
    limits.ranges = static_cast<std::uint32_t>(1 + random.below(3));
    windows_.emplace(index, batch.batch_lists(), cache, limits);
  }

  std::size_t size() const { return windows_->size(); }
  /// See DocumentWindows.
  std::uint64_t entry_room() const { return windows_->entry_room(); }
  /// Loads a window's words into one half of the arena's free space, alternating between the halves, and fills the rest
  /// of that half with garbage. `first_entry`: where the window is decoded to.
  void bring(HostIndex& index, std::size_t window, std::uint64_t first_entry, gpu::WindowLists& lists) const {
    const std::uint64_t first = room_.first + window % 2 * (room_.words / 2);
    windows_->view(window, first, first_entry, lists);
    REQUIRE(lists.words <= room_.words / 2);
    index.fill_arena(first, room_.words / 2, lists.copies);
  }

 private:
  gpu::ArenaRoom room_;
  std::optional<gpu::DocumentWindows> windows_;
};

/// Runs a strategy's kernels for a view whose lists are in host memory.
using FindInWindow =
    std::function<void(const HostIndex& index, const gpu::BatchView& view, std::span<const gpu::ListView> lists)>;

/// Answers a batch window by window, as WindowedRun does, with random fronts of lists in the arena. Returns the number
/// of queries that ended before the last window.
inline std::size_t run_windows(HostIndex& index, const gpu::QueryBatch& batch, HostBatchView& host, RandomBits& random,
                               const FindInWindow& find) {
  gpu::ListCache cache = index.keep_fronts(batch.batch_lists(), random);
  const HostWindows windows(cache, batch, random);
  const std::size_t queries = batch.queries.size(), k = host.view.k;
  std::vector<gpu::RankKey> results(queries * k, 5), limits(queries, gpu::no_key), keys(2 * k);
  std::vector<std::uint32_t> num_results(queries, 0xdeadbeef);
  const std::span<const float> bounds = index.engine().scoring_context().upper_bounds;
  gpu::WindowLists lists;
  std::size_t ended = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    windows.bring(index, i, 0, lists);
    gpu::BatchView view = host.view;
    view.lists = lists.lists.data();
    view.results = results.data();
    view.num_results = num_results.data();
    view.first_docid = lists.window.first_range * gpu::range_documents;
    const std::uint64_t end = std::uint64_t{lists.window.first_range + lists.window.ranges} * gpu::range_documents;
    view.end_docid = static_cast<std::uint32_t>(std::min<std::uint64_t>(end, index.view.num_documents));
    view.limits = limits.data();
    *view.next_work = 0;
    ended += static_cast<std::size_t>(std::count(limits.begin(), limits.end(), gpu::RankKey{0}));
    find(index, view, lists.lists);
    gpu::MergedWindow merged{results.data(), num_results.data(), limits.data(), nullptr, i == 0};
    float next_bound = 0;
    if (end < bounds.size()) {
      next_bound = bounds[end];
      merged.next_bound = &next_bound;
    }
    emulated::run(1, 64, [&] {
      for (std::uint32_t query = 0; query < queries; ++query) {
        gpu::merge_window(host.view, merged, query, keys.data());
        __syncthreads();
      }
    });
  }
  return ended;
}

}  // namespace quern::testing
