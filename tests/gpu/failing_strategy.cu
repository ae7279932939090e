#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/worker/strategy_run.cuh"

#include "gpu/failing_strategy.hpp"

namespace quern::testing {
namespace {

using namespace gpu;

/// Delegates to another runner until a batch runs.
class FailingRun : public StrategyRun {
 public:
  explicit FailingRun(std::unique_ptr<StrategyRun> other) : other_(std::move(other)) {}
  ~FailingRun() override { cudaFree(this); }

  OwnBytes plan(const QueryBatch& batch, const BatchWork& work) override { return other_->plan(batch, work); }
  void fill(std::uint8_t* host, std::uint8_t* filled, std::uint8_t* zeroed) override {
    other_->fill(host, filled, zeroed);
  }
  void prepare(const QueryBatch& batch, const BatchWork& work) override { other_->prepare(batch, work); }
  void run(const IndexView&, const BatchView&, const QueryBatch&, const BatchWork&, const CudaStream& stream) override {
    CUDA_CHECK(cudaMemsetAsync(nullptr, 0, 1, stream));
  }

 private:
  std::unique_ptr<StrategyRun> other_;
};

std::unique_ptr<StrategyRun> make(const DeviceIndex& index, MemoryAccount& account, const StrategyOptions& options) {
  auto run = make_range(index, account, options);
  if (index.gpu() > 0) return run;
  return std::make_unique<FailingRun>(std::move(run));
}

}  // namespace

gpu::Strategy failing_on_first_gpu() {
  Strategy strategy = strategy_named("range");
  strategy.make = make;
  return strategy;
}

}  // namespace quern::testing
