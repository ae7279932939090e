#include "quern/core/option_name.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/intersect/intersect_runner.hpp"
#include "quern/gpu/rank/features/document_words.hpp"
#include "quern/gpu/rank/models/device_ranker.hpp"
#include "quern/gpu/rank/models/ranker_flight.hpp"
#include "quern/gpu/rank/rerank_flight.hpp"
#include "quern/gpu/worker/batch_runner.hpp"

// Definitions for a build without CUDA; cmake/cuda.cmake leaves this file out of a build with it.
namespace quern {

bool built_with_cuda() { return false; }

std::vector<GpuInfo> list_gpus() { return {}; }

std::uint64_t free_gpu_memory(unsigned) { return 0; }

namespace gpu {
namespace {

[[noreturn]] void fail() {
  throw CudaError(std::string("this program was built without CUDA; build it with QUERN_CUDA=ON, or use ") +
                  option_name<"device"> + " cpu");
}

}  // namespace

struct DeviceIndex::Device {};
DeviceIndex::DeviceIndex(const IndexReader& index, const QueryEngine*, unsigned gpu, const GpuMemoryOptions&, Progress&)
    : index_(index), gpu_(gpu) {
  fail();
}
DeviceIndex::DeviceIndex(const IndexReader& index, unsigned gpu, const GpuMemoryOptions& memory, Progress& progress)
    : DeviceIndex(index, nullptr, gpu, memory, progress) {}
DeviceIndex::DeviceIndex(const QueryEngine& engine, unsigned gpu, const GpuMemoryOptions& memory, Progress& progress)
    : DeviceIndex(engine.index(), &engine, gpu, memory, progress) {}
DeviceIndex::DeviceIndex(DeviceIndex&&) noexcept = default;
DeviceIndex::~DeviceIndex() = default;

void DeviceIndex::upload_block_maxima(Progress&) { fail(); }
void DeviceIndex::upload_upper_bounds(const QueryEngine&, Progress&) { fail(); }

struct DeviceListStore::Device {};
DeviceListStore::DeviceListStore(const DeviceIndex& index, const GpuMemoryOptions&, Progress&)
    : index_(index), cache_({}) {
  fail();
}
DeviceListStore::DeviceListStore(DeviceListStore&&) noexcept = default;
DeviceListStore::~DeviceListStore() = default;
bool DeviceListStore::acquire(unsigned, std::span<const WantedList>) { fail(); }
bool DeviceListStore::fit(std::span<const WantedList>) const { fail(); }
std::vector<WantedList> DeviceListStore::without_rarely_read(std::span<const WantedList>) { fail(); }
void DeviceListStore::release(unsigned) {}
bool DeviceListStore::open_windows(unsigned) { fail(); }
ListCacheCounts DeviceListStore::take_counts() { fail(); }
double DeviceListStore::copy_us(unsigned) const { fail(); }

struct EntryStore::Device {};
EntryStore::EntryStore(const DeviceIndex&, std::uint64_t) { fail(); }
EntryStore::~EntryStore() = default;
std::uint32_t* EntryStore::arena() const { fail(); }

struct DocumentWords::Device {};
std::uint64_t DocumentWords::bytes_needed(const FeatureExtractor&) { fail(); }
DocumentWords::DocumentWords(const FeatureExtractor&, unsigned, MemoryAccount&, MemoryAccount&, Progress&) { fail(); }
DocumentWords::~DocumentWords() = default;
const std::uint32_t* DocumentWords::words() const { fail(); }

struct RerankFlight::State {};
RerankFlight::RerankFlight(unsigned, const FeatureExtractor& extractor, const DocumentWords* documents,
                           const FeatureBatchLimits& limits, MemoryAccount&, MemoryAccount&)
    : batch_(extractor, documents == nullptr, limits) {
  fail();
}
RerankFlight::~RerankFlight() = default;
bool RerankFlight::score(const DeviceRanker&, std::span<double>) { fail(); }
bool RerankFlight::features(FeatureMatrix&) { fail(); }

struct PinnedFeatures::Memory {};
PinnedFeatures::PinnedFeatures(const FeatureColumns&, std::size_t, MemoryAccount&) { fail(); }
PinnedFeatures::~PinnedFeatures() = default;

class StrategyRun {};
std::unique_ptr<StrategyRun> make_range(const DeviceIndex&, MemoryAccount&, const StrategyOptions&) { fail(); }
std::unique_ptr<StrategyRun> make_ding(const DeviceIndex&, MemoryAccount&, const StrategyOptions&) { fail(); }
std::unique_ptr<StrategyRun> make_partition(const DeviceIndex&, MemoryAccount&, const StrategyOptions&) { fail(); }
std::unique_ptr<StrategyRun> make_wang(const DeviceIndex&, MemoryAccount&, const StrategyOptions&) { fail(); }

struct BatchRunner::State {
  BatchTimes times;
};
BatchRunner::BatchRunner(const DeviceIndex&, const DeviceListStore*, const Strategy&, const StrategyOptions&) {
  fail();
}
BatchRunner::BatchRunner(BatchRunner&&) noexcept = default;
BatchRunner::~BatchRunner() = default;
void BatchRunner::start(const QueryBatch&, const BatchWork&, const BatchRunner*, bool) { fail(); }
void BatchRunner::use_entries(const EntryStore&) { fail(); }
void BatchRunner::begin_windows(const QueryBatch&, const BatchWork&) { fail(); }
void BatchRunner::run_windows(const BatchWork&, const DocumentWindows&, DeviceListStore&, unsigned, std::uint64_t,
                              const BatchRunner*) {
  fail();
}
void BatchRunner::wait_for_kernels() { fail(); }
void BatchRunner::wait() { fail(); }
void BatchRunner::free_memory() { fail(); }
std::uint64_t BatchRunner::bytes_for_batches() const { fail(); }
const MemoryTable& BatchRunner::memory() const { fail(); }
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
IntersectRunner::IntersectRunner(const DeviceIndex&, const DeviceListStore*, std::uint64_t) { fail(); }
IntersectRunner::IntersectRunner(IntersectRunner&&) noexcept = default;
IntersectRunner::~IntersectRunner() = default;
void IntersectRunner::start(const IntersectArrays&, const IntersectWork&, const UnpackedMemory&,
                            const IntersectRunner*) {
  fail();
}
void IntersectRunner::run_windows(const WindowedBatch&, const IntersectWork&, const UnpackedMemory&, DeviceListStore&,
                                  unsigned, const IntersectRunner*) {
  fail();
}
WindowedAnswers IntersectRunner::wait_for_windows() { fail(); }
std::vector<std::span<const docid_t>> IntersectRunner::wait() { fail(); }
void IntersectRunner::abandon() noexcept {}
void IntersectRunner::wait_for_kernels() { fail(); }
void IntersectRunner::free_memory() { fail(); }
const MemoryTable& IntersectRunner::memory() const { fail(); }
const IntersectTimes& IntersectRunner::times() const { return state_->times; }

struct DeviceRanker::Device {};
DeviceRanker::DeviceRanker(const RankerModel&, unsigned, MemoryAccount&, const DeviceRankerOptions&) { fail(); }
DeviceRanker::DeviceRanker(const RankerArrays&, unsigned, MemoryAccount&, const DeviceRankerOptions&) { fail(); }
DeviceRanker::~DeviceRanker() = default;
std::uint32_t DeviceRanker::features() const { fail(); }
std::uint64_t DeviceRanker::bytes() const { fail(); }

struct RankerFlight::State {
  RankerTimes times;
};
RankerFlight::RankerFlight(unsigned, MemoryAccount&, MemoryAccount&) { fail(); }
RankerFlight::~RankerFlight() = default;
void RankerFlight::score(const DeviceRanker&, const FeatureColumns&, std::span<double>) { fail(); }
void RankerFlight::measure_times(bool) { fail(); }
const RankerTimes& RankerFlight::times() const { return state_->times; }

}  // namespace gpu

}  // namespace quern
