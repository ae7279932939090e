#include "quern/gpu/papers/wang/wang_kernels.hpp"
#include "quern/gpu/worker/strategy_run.cuh"

namespace quern::gpu {
namespace {

/// The strategy of Wang et al., for intersections. One launch answers a batch or window, without working memory.
class WangRun final : public WindowedRun {
 public:
  using WindowedRun::WindowedRun;

 private:
  void find(const IndexView& index, const BatchView& view, const QueryBatch&, std::span<const ListView>,
            const BatchWork&, const CudaStream& stream) override {
    with_coding(device().coding,
                [&]<Coding coding>() { WangKernels<coding>::run(index, view, device().quantized, stream); });
  }
};

}  // namespace

std::unique_ptr<StrategyRun> make_wang(const DeviceIndex& index, MemoryAccount& account, const StrategyOptions&) {
  return std::make_unique<WangRun>(index, account);
}

}  // namespace quern::gpu
