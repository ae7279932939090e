#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/engine/batch_runner.hpp"
#include "quern/gpu/intersection/intersect_runner.hpp"

// Definitions for a build without CUDA; cmake/cuda.cmake leaves this file out of a build with it.
namespace quern {

bool built_with_cuda() { return false; }

std::vector<GpuInfo> list_gpus() { return {}; }

namespace gpu {
namespace {

[[noreturn]] void fail() {
  throw CudaError("this program was built without CUDA; build it with QUERN_CUDA=ON, or ask for --device cpu");
}

}  // namespace

struct DeviceIndex::Device {};
DeviceIndex::DeviceIndex(const IndexReader& index, const QueryEngine*, unsigned gpu, Progress&)
    : index_(index), gpu_(gpu) {
  fail();
}
DeviceIndex::DeviceIndex(const IndexReader& index, unsigned gpu, Progress& progress)
    : DeviceIndex(index, nullptr, gpu, progress) {}
DeviceIndex::DeviceIndex(const QueryEngine& engine, unsigned gpu, Progress& progress)
    : DeviceIndex(engine.index(), &engine, gpu, progress) {}
DeviceIndex::DeviceIndex(DeviceIndex&&) noexcept = default;
DeviceIndex::~DeviceIndex() = default;

void DeviceIndex::upload_block_maxima(Progress&) { fail(); }

class StrategyRun {};
std::unique_ptr<StrategyRun> make_range(const DeviceIndex&, const StrategyOptions&) { fail(); }
std::unique_ptr<StrategyRun> make_ding(const DeviceIndex&, const StrategyOptions&) { fail(); }
std::unique_ptr<StrategyRun> make_partition(const DeviceIndex&, const StrategyOptions&) { fail(); }

struct BatchRunner::State {
  BatchTimes times;
};
BatchRunner::BatchRunner(const DeviceIndex&, const Strategy&, const StrategyOptions&) { fail(); }
BatchRunner::BatchRunner(BatchRunner&&) noexcept = default;
BatchRunner::~BatchRunner() = default;
void BatchRunner::start(const QueryBatch&, const BatchWork&, const BatchRunner*) { fail(); }
void BatchRunner::wait() { fail(); }
BatchAnswer BatchRunner::answer(std::uint32_t) const { fail(); }
void BatchRunner::abandon() noexcept {}
const BatchTimes& BatchRunner::times() const { return state_->times; }
BatchCounts BatchRunner::counts() const { fail(); }

struct UnpackedMemory::Device {};
UnpackedMemory::UnpackedMemory(const DeviceIndex&, std::uint64_t) { fail(); }
UnpackedMemory::UnpackedMemory(UnpackedMemory&&) noexcept = default;
UnpackedMemory& UnpackedMemory::operator=(UnpackedMemory&&) noexcept = default;
UnpackedMemory::~UnpackedMemory() = default;

struct IntersectRunner::State {
  IntersectTimes times;
};
IntersectRunner::IntersectRunner(const DeviceIndex&) { fail(); }
IntersectRunner::IntersectRunner(IntersectRunner&&) noexcept = default;
IntersectRunner::~IntersectRunner() = default;
void IntersectRunner::start(const IntersectBatch&, const IntersectWork&, const UnpackedMemory&,
                            const IntersectRunner*) {
  fail();
}
std::vector<std::span<const docid_t>> IntersectRunner::wait() { fail(); }
void IntersectRunner::abandon() noexcept {}
const IntersectTimes& IntersectRunner::times() const { return state_->times; }

}  // namespace gpu

}  // namespace quern
