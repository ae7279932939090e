#include <cuda_runtime_api.h>

#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/device/device_memory.cuh"

namespace quern::gpu {
namespace {

Coding coding_of(const IndexReader& index) {
  const std::string_view codec = index.codec().name;
  if (codec == "rpfd" && index.manifest().codec_options.recursion == 1) return Coding::rpfd_once;
#define QUERN_GPU_CODING(name) \
  if (codec == #name) return Coding::name;
  QUERN_GPU_CODINGS(QUERN_GPU_CODING)
#undef QUERN_GPU_CODING
  throw InvalidArgument(index.name() + ": codec " + std::string(codec) +
                        " can't be decoded on GPUs; build the index with maskpfd, newpfd, rpfd or rice");
}

/// The maximum of each range of documents; empty for empty `values`.
std::vector<float> max_of_ranges(std::span<const float> values) {
  std::vector<float> maxima;
  for (std::size_t begin = 0; begin < values.size(); begin += range_documents) {
    const auto range = values.subspan(begin, std::min<std::size_t>(range_documents, values.size() - begin));
    maxima.push_back(*std::max_element(range.begin(), range.end()));
  }
  return maxima;
}

/// The engine's memory limit: the user's, or the free memory without a margin for other work on the GPU.
std::uint64_t limit_of(const IndexReader& index, const GpuMemoryOptions& memory, unsigned number,
                       const cudaDeviceProp& gpu) {
  const std::optional<std::uint64_t> allowed = memory.limit(index);
  const std::uint64_t all_free = free_gpu_memory(number),
                      reserved = number == memory.reserved.gpu ? memory.reserved.bytes : 0,
                      free_bytes = all_free - std::min(all_free, reserved),
                      margin = std::min<std::uint64_t>(free_bytes / 16, 512 << 20);
  if (!allowed) return free_bytes - margin;
  if (*allowed > free_bytes)
    throw GpuOutOfMemory(index.name() + ": is allowed to use " + size_text(*allowed) + " of GPU memory, but only " +
                         size_text(free_bytes) + " is free on the " + gpu.name + "; lower " +
                         option_name<"gpu-memory"> + ", or use " + option_name<"device"> + " cpu");
  return *allowed;
}

/// Kernels need compute capability 8.0.
void check_capability(const cudaDeviceProp& gpu) {
  if (gpu.major < 8)
    throw CudaError(std::string("the ") + gpu.name + " has compute capability " + std::to_string(gpu.major) + "." +
                    std::to_string(gpu.minor) + ", but 8.0 or higher is needed; use another GPU, or " +
                    option_name<"device"> + " cpu");
}

}  // namespace

void use_gpu(unsigned gpu) { CUDA_CHECK(cudaSetDevice(static_cast<int>(gpu))); }

void* DeviceAllocation::allocate(std::size_t bytes) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, bytes));
  return memory;
}
void DeviceAllocation::free(void* memory) noexcept { cudaFree(memory); }

void* PinnedAllocation::allocate(std::size_t bytes) {
  void* memory = nullptr;
  CUDA_CHECK(cudaMallocHost(&memory, bytes));
  return memory;
}
void PinnedAllocation::free(void* memory) noexcept { cudaFreeHost(memory); }

DeviceIndex::~DeviceIndex() = default;

DeviceIndex::DeviceIndex(const IndexReader& index, const QueryEngine* scores, unsigned gpu,
                         const GpuMemoryOptions& memory, Progress& progress)
    : index_(index), gpu_(gpu), device_(std::make_unique<Device>()) {
  const PinnedDivision pinned = divide_pinned(memory.pinned_bytes);
  pinned_->set_limit(pinned.limit);
  upload_buffer_ = pinned.upload;
  use_gpu(gpu);
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, static_cast<int>(gpu)));
  check_capability(properties);
  Device& device = *device_;
  device.coding = coding_of(index);
  device.quantized = scores != nullptr && scores->quantizer() != nullptr;

  const ContainerReader& file = index.container();
  auto postings = file.array<std::uint32_t>("postings");
  auto block_last = file.array<std::uint32_t>("block_last"), block_offset = file.array<std::uint32_t>("block_offset");
  auto impacts = device.quantized ? file.array<std::uint32_t>("impacts") : std::span<const std::uint32_t>();
  std::span<const float> constants, static_scores, upper_bounds;
  if (scores != nullptr) {
    const ScoringContext context = scores->scoring_context();
    static_scores = context.static_scores;
    upper_bounds = context.upper_bounds;
    if (!device.quantized) constants = scores->constants();
  }
  const std::vector<float> range_static_score = max_of_ranges(static_scores),
                           range_upper_bounds = max_of_ranges(upper_bounds);
  if (device.coding == Coding::rpfd)
    device.scratch_words =
        std::uint64_t{rpfd::arrays_of(index.manifest().codec_options.recursion)} * index.block_size() *
        static_cast<unsigned>(properties.multiProcessorCount * properties.maxThreadsPerMultiProcessor / 32);

  const IndexSizes sizes = sizes_of(index, scores);
  const std::uint64_t limit = limit_of(index, memory, gpu_, properties);
  GpuMemoryOptions own = memory;
  if (!own.needs) own.needs.emplace();
  own.needs->least += device.scratch_words * sizeof(std::uint32_t);
  division_ = divide_memory(limit, sizes, own, index.name());
  whole_account_->set_limit(limit);
  account_->set_limit(limit - batches_in_flight * division_.per_batch);
  division_.staging = std::min(division_.staging, pinned.staging);
  if (!division_.whole_index) postings = impacts = {};
  if (!division_.resident_rows) block_last = block_offset = {};

  progress.start("copy to the GPU",
                 sizes.tables + (block_last.size() * 8) + postings.size_bytes() + impacts.size_bytes(), "bytes");
  Uploader uploader(*pinned_, upload_buffer_, progress);
  device.postings = uploader.upload(*account_, MemoryUse::lists, postings, postings.empty() ? 0 : over_read_words);
  device.block_last = uploader.upload(*account_, MemoryUse::rows, block_last);
  device.block_offset = uploader.upload(*account_, MemoryUse::rows, block_offset);
  device.impacts = uploader.upload(*account_, MemoryUse::lists, impacts, impacts.empty() ? 0 : over_read_words);
  device.constants = uploader.upload(*account_, MemoryUse::tables, constants);
  device.static_scores = uploader.upload(*account_, MemoryUse::tables, static_scores);
  device.range_static_score = uploader.upload(*account_, MemoryUse::tables, std::span<const float>(range_static_score));
  device.range_upper_bounds = uploader.upload(*account_, MemoryUse::tables, std::span<const float>(range_upper_bounds));
  uploader.wait();
  progress.finish();

  IndexView& view = device.view;
  view.postings = device.postings.data();
  view.block_last = device.block_last.data();
  view.block_offset = device.block_offset.data();
  view.impacts = device.impacts.data();
  view.constants = device.constants.data();
  view.static_scores = device.static_scores.data();
  view.num_documents = index.num_documents();
  view.block_size = index.block_size();
  view.recursion = index.manifest().codec_options.recursion;
}

template <class T>
auto DeviceIndex::upload_more(MemoryUse use, std::span<const T> from, const char* what, Progress& progress) {
  use_gpu(gpu_);
  progress.start("copy " + std::string(what) + " to the GPU", from.size_bytes(), "bytes");
  Uploader uploader(*pinned_, upload_buffer_, progress);
  DeviceArray<T> to = uploader.upload(*account_, use, from);
  uploader.wait();
  progress.finish();
  return to;
}

void DeviceIndex::upload_block_maxima(Progress& progress) {
  Device& device = *device_;
  if (!division_.resident_rows) return;  // they are copied with the other rows
  const auto block_max = index_.container().array<std::uint16_t>("block_max");
  if (device.block_max.size() > 0 || block_max.empty()) return;
  device.block_max = upload_more(MemoryUse::rows, block_max, "block maxima", progress);
  device.view.block_max = device.block_max.data();
}

void DeviceIndex::upload_upper_bounds(const QueryEngine& engine, Progress& progress) {
  Device& device = *device_;
  const std::span<const float> upper_bounds = engine.scoring_context().upper_bounds;
  if (device.upper_bounds.size() > 0 || upper_bounds.empty()) return;
  device.upper_bounds = upload_more(MemoryUse::tables, upper_bounds, "upper bounds", progress);
  device.view.upper_bounds = device.upper_bounds.data();
}

}  // namespace quern::gpu

namespace quern {

bool built_with_cuda() { return true; }

std::vector<GpuInfo> list_gpus() {
  int count = 0;
  // These are not failures: most machines have no GPU, and the driver may be missing or older than the runtime.
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) return {};
  CUDA_CHECK(status);

  std::vector<GpuInfo> gpus;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    int clock_khz = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device));
    char bus_id[32] = {};
    CUDA_CHECK(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device));
    gpus.push_back({properties.name, properties.totalGlobalMem, static_cast<unsigned>(properties.multiProcessorCount),
                    static_cast<unsigned>(properties.major), static_cast<unsigned>(properties.minor),
                    static_cast<unsigned>(clock_khz) / 1000, bus_id});
  }
  return gpus;
}

std::uint64_t free_gpu_memory(unsigned gpu) {
  gpu::use_gpu(gpu);
  std::size_t free_bytes = 0, all_bytes = 0;
  CUDA_CHECK(cudaMemGetInfo(&free_bytes, &all_bytes));
  return free_bytes;
}

}  // namespace quern
