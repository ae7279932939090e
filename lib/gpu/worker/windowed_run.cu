#include "quern/gpu/worker/sort_keys.cuh"
#include "quern/gpu/worker/strategy_run.cuh"

namespace quern::gpu {
namespace {

__global__ void __launch_bounds__(plain_threads)
    run_merge(const __grid_constant__ BatchView so_far, const __grid_constant__ MergedWindow window) {
  extern __shared__ __align__(16) unsigned char keys[];
  merge_window(so_far, window, blockIdx.x, reinterpret_cast<RankKey*>(keys));
}

}  // namespace

void WindowedRun::prepare_windows(const QueryBatch& batch, const BatchWork& work, const CudaStream& stream) {
  const std::size_t queries = batch.queries.size();
  batch_ = &batch;
  is_first_ = true;
  results_.reserve(queries * work.k);
  num_results_.reserve(queries);
  limits_.reserve(queries);
  static_assert(no_key == ~RankKey{0}, "memset writes equal bytes");
  CUDA_CHECK(cudaMemsetAsync(limits_.data(), 0xff, queries * sizeof(RankKey), stream));
  prepare(batch, work);
}

void WindowedRun::run_window(const IndexView& index, const BatchView& view, const WindowLists& lists,
                             const BatchWork& work, const CudaStream& stream) {
  const std::uint32_t end_range = lists.window.first_range + lists.window.ranges;
  BatchView window_view = view;
  window_view.results = results_.data();
  window_view.num_results = num_results_.data();
  window_view.first_docid = static_cast<std::uint32_t>(lists.window.first_docid());
  window_view.end_docid =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(lists.window.end_docid(), index.num_documents));
  window_view.limits = limits_.data();
  find(index, window_view, *batch_, lists.lists, work, stream);

  MergedWindow merged{results_.data(), num_results_.data(), limits_.data(), nullptr, is_first_};
  if (end_range < device_.range_upper_bounds.size()) merged.next_bound = device_.range_upper_bounds.data() + end_range;
  is_first_ = false;
  launch(run_merge, view.num_queries, plain_threads, 2 * view.k * sizeof(RankKey), stream, view, merged);
}

void WindowedRun::free_memory() {
  results_.release();
  limits_.release();
  num_results_.release();
}

}  // namespace quern::gpu
