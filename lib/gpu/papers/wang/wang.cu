#include "quern/gpu/papers/wang/wang_block.cuh"
#include "quern/gpu/papers/wang/wang_kernels.hpp"
#include "quern/gpu/worker/strategy_run.cuh"

namespace quern::gpu {
namespace {

__global__ void __launch_bounds__(plain_threads)
    run_starts(const __grid_constant__ IndexView index, const __grid_constant__ BatchView batch,
               const __grid_constant__ BatchSegments segments) {
  write_starts(index, batch, segments);
}

/// The strategy of Wang et al., for intersections. After the lists' rows have been cut into hash segments, one launch
/// answers a batch or window.
class WangRun final : public WindowedRun {
 public:
  WangRun(const DeviceIndex& index, MemoryAccount& account, const StrategyOptions& options)
      : WindowedRun(index, account), threads_(options.round), starts_(account, MemoryUse::working) {}

  void free_memory() override {
    WindowedRun::free_memory();
    starts_.release();
  }

  OwnBytes plan(const QueryBatch& batch, const BatchWork&) override {
    segments_.num_starts = cut_rows(batch.lists, device().view.num_documents, lists_);
    return {lists_.size() * sizeof(ListSegments), 0};
  }

  void fill(std::uint8_t* host, std::uint8_t* filled, std::uint8_t*) override {
    std::memcpy(host, lists_.data(), lists_.size() * sizeof(ListSegments));
    segments_.lists = reinterpret_cast<const ListSegments*>(filled);
  }

  void prepare(const QueryBatch&, const BatchWork&) override {
    segments_.starts = starts_.reserve(segments_.num_starts);
    are_written_ = false;
  }

 private:
  void find(const IndexView& index, const BatchView& view, const QueryBatch&, std::span<const ListView>,
            const BatchWork&, const CudaStream& stream) override {
    // Rows do not depend on windows.
    if (!are_written_) launch_resident(run_starts, plain_threads, index.left_free, stream, index, view, segments_);
    are_written_ = true;
    with_coding(device().coding, [&]<Coding coding>() {
      WangKernels<coding>::run(index, view, segments_, threads_, device().quantized, stream);
    });
  }

  unsigned threads_;
  std::vector<ListSegments> lists_;
  BatchSegments segments_;  ///< on the device
  DeviceArray<std::uint32_t> starts_;
  bool are_written_ = false;  ///< the directories of the batch's segments
};

}  // namespace

std::unique_ptr<StrategyRun> make_wang(const DeviceIndex& index, MemoryAccount& account,
                                       const StrategyOptions& options) {
  return std::make_unique<WangRun>(index, account, options);
}

}  // namespace quern::gpu
