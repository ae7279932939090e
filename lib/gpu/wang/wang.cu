#include "quern/gpu/device/device_index_view.cuh"
#include "quern/gpu/engine/strategy_run.cuh"
#include "quern/gpu/wang/wang_kernels.hpp"

namespace quern::gpu {
namespace {

/// The strategy of Wang et al., for batches of intersections. One launch answers a batch, without working memory.
class WangRun final : public StrategyRun {
 public:
  explicit WangRun(const DeviceIndex& index) : coding_(index.device().coding), quantized_(index.device().quantized) {}

  void run(const IndexView& index, const BatchView& view, const QueryBatch&, const BatchWork&,
           const Stream& stream) override {
    with_coding(coding_, [&]<Coding coding>() { WangKernels<coding>::run(index, view, quantized_, stream); });
  }

 private:
  Coding coding_;
  bool quantized_;
};

}  // namespace

std::unique_ptr<StrategyRun> make_wang(const DeviceIndex& index, MemoryAccount&, const StrategyOptions&) {
  return std::make_unique<WangRun>(index);
}

}  // namespace quern::gpu
