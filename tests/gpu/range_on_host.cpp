#include "gpu/range_on_host.hpp"
//
#include "quern/gpu/range/entries.cuh"
#include "quern/gpu/range/finish.cuh"
#include "quern/gpu/range/intersection.cuh"
#include "quern/gpu/range/union.cuh"

namespace quern::testing {
namespace {

using gpu::Coding;

template <unsigned threads>
void unite(const gpu::RangeView& range_view, const Way& way) {
  static gpu::UnionShared shared;
  emulated::run(1, threads, [&] { gpu::UnionBlock<threads>(range_view, shared, way.pruning).run(); });
}

/// Decodes lists and finds their candidates.
template <Coding coding, int V, bool quantized>
void find_in_entries(const gpu::IndexView& view, const gpu::RangeView& range_view, const Way& way) {
  if (range_view.blocks > 0) {
    emulated::run(2, gpu::plain_threads, [&] { gpu::clear_starts(range_view); });
    emulated::run(2, gpu::plain_threads, [&] { gpu::write_entries<coding, V, quantized>(view, range_view); });
  }
  if (way.intersect) {
    emulated::run(1, gpu::plain_threads, [&] { gpu::answer_items(range_view); });
  } else if (way.few_queries) {
    unite<gpu::union_threads_of_few>(range_view, way);
  } else {
    unite<gpu::union_threads>(range_view, way);
  }
}

template <Coding coding, int V, bool quantized>
void score_found(const gpu::IndexView& view, const gpu::RangeView& range_view) {
  emulated::run(2, gpu::scoring_threads, [&] { gpu::score_candidates<coding, V, quantized>(view, range_view); });
}

/// Runs the kernels window by window.
template <Coding coding, int V, bool quantized>
void run_windows(HostIndex& index, HostBatch& batch, const Way& way, const HostWindows& windows) {
  batch.use(*way.entries);
  std::uint64_t first_entry = 0;
  REQUIRE(way.entries->cache().take_room(0, windows.entry_room(), first_entry));
  gpu::WindowLists lists;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    way.entries->forget();
    windows.bring(index, i, first_entry, lists);
    batch.begin_window(lists);
    find_in_entries<coding, V, quantized>(index.view, batch.view, way);
    if (!way.score_first) continue;
    score_found<coding, V, quantized>(index.view, batch.view);
    batch.note_scored();
  }
}

template <Coding coding, int V, bool quantized>
void run_kernels(HostIndex& index, HostBatch& batch, const Way& way) {
  const gpu::IndexView& view = index.view;
  const gpu::RangeView& range_view = batch.view;
  using emulated::run;
  if (way.windows != nullptr)
    run_windows<coding, V, quantized>(index, batch, way, *way.windows);
  else if (way.from_lists)
    run(1, gpu::plain_threads, [&] { gpu::run_intersection<coding, V, quantized>(view, range_view); });
  else
    find_in_entries<coding, V, quantized>(view, range_view, way);
  const bool score = way.score_first && !way.from_lists;
  if (score && way.windows == nullptr) score_found<coding, V, quantized>(view, range_view);
  // Does the same as finish_queries(), whose shared memory is dynamic.
  static gpu::Candidate keys[gpu::many_candidates];
  static std::uint32_t kept;
  static gpu::WarpBuffers<V, gpu::finish_threads_of<V>> buffers;
  run(1, gpu::finish_threads_of<V>, [&] {
    gpu::QueryFinish<coding, V, quantized> finish(view, range_view, keys, kept, gpu::begin_decoding<coding>(buffers));
    for (std::uint32_t number = 0; number < range_view.num_queries; ++number) {
      finish.run(number, way.from_lists || score);
      __syncthreads();
    }
  });
}

template <int V, bool quantized>
void run_coding(HostIndex& index, HostBatch& batch, const Way& way) {
  gpu::with_coding(index.coding(), [&]<Coding coding>() { run_kernels<coding, V, quantized>(index, batch, way); });
}

}  // namespace

void run_way(HostIndex& index, HostBatch& host, const Way& way) {
  host.filter(way.passing);
  const bool quantized = index.engine().quantizer() != nullptr;
  if (index.view.block_size <= 4 * gpu::lanes_per_warp)
    quantized ? run_coding<4, true>(index, host, way) : run_coding<4, false>(index, host, way);
  else
    quantized ? run_coding<8, true>(index, host, way) : run_coding<8, false>(index, host, way);
}

}  // namespace quern::testing
