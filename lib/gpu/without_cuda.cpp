#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/intersect/intersect_runner.hpp"
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

void use_gpu(unsigned) { fail(); }
void* DeviceAllocation::allocate(std::size_t) { fail(); }
void DeviceAllocation::free(void*) noexcept {}
void* PinnedAllocation::allocate(std::size_t) { fail(); }
void PinnedAllocation::free(void*) noexcept {}

struct DeviceIndex::Device {};
DeviceIndex::DeviceIndex(const IndexReader& index, const QueryEngine*, unsigned gpu, const GpuMemoryOptions&, Progress&)
    : index_(index), gpu_(gpu) {
  fail();
}
DeviceIndex::~DeviceIndex() = default;

void DeviceIndex::upload_block_maxima(Progress&) { fail(); }
void DeviceIndex::upload_upper_bounds(const QueryEngine&, Progress&) { fail(); }

struct DeviceListStore::Device {};
DeviceListStore::DeviceListStore(const DeviceIndex& index, const GpuMemoryOptions&, Progress&)
    : index_(index), cache_({}) {
  fail();
}
DeviceListStore::~DeviceListStore() = default;
bool DeviceListStore::acquire(unsigned, std::span<const WantedList>) { fail(); }
bool DeviceListStore::fit(std::span<const WantedList>) const { fail(); }
std::vector<WantedList> DeviceListStore::without_rarely_read(std::span<const WantedList>) { fail(); }
void DeviceListStore::open_windows() { fail(); }
ListCacheCounts DeviceListStore::take_counts() { fail(); }
double DeviceListStore::copy_us(unsigned) const { fail(); }

EntryStore::EntryStore(const DeviceIndex&, std::uint64_t) { fail(); }

std::uint64_t DocumentWords::bytes_needed(const FeatureExtractor&) { fail(); }
DocumentWords::DocumentWords(const FeatureExtractor&, unsigned, MemoryAccount&, MemoryAccount&, Progress&) { fail(); }

struct RerankFlight::State {};
RerankFlight::RerankFlight(unsigned, const FeatureExtractor& extractor, const DocumentWords* documents,
                           const FeatureBatchLimits& limits, MemoryAccount&, MemoryAccount&)
    : batch_(extractor, documents == nullptr, limits) {
  fail();
}
RerankFlight::~RerankFlight() = default;
bool RerankFlight::score(const DeviceRanker&, std::span<double>) { fail(); }
bool RerankFlight::features(FeatureMatrix&) { fail(); }

class StrategyRun {};
std::unique_ptr<StrategyRun> make_range(const DeviceIndex&, MemoryAccount&, const StrategyOptions&) { fail(); }
std::unique_ptr<StrategyRun> make_ding(const DeviceIndex&, MemoryAccount&, const StrategyOptions&) { fail(); }
std::unique_ptr<StrategyRun> make_partition(const DeviceIndex&, MemoryAccount&, const StrategyOptions&) { fail(); }
std::unique_ptr<StrategyRun> make_wang(const DeviceIndex&, MemoryAccount&, const StrategyOptions&) { fail(); }

std::unique_ptr<BatchRunner> make_batch_runner(const DeviceIndex&, const DeviceListStore*, const Strategy&,
                                               const StrategyOptions&) {
  fail();
}
std::unique_ptr<IntersectRunner> make_intersect_runner(const DeviceIndex&, const DeviceListStore*, std::uint64_t) {
  fail();
}

struct DeviceRanker::Device {};
DeviceRanker::DeviceRanker(const RankerArrays&, unsigned, MemoryAccount&, bool) { fail(); }
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
