#include <algorithm>
#include <array>
#include <cstring>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/rank/features/document_words.hpp"

namespace quern::gpu {
namespace {

/// Bytes per copy: a quarter of the pinned memory, since two buffers are in use.
std::uint64_t buffer_bytes_of(const MemoryAccount& pinned) {
  return std::clamp<std::uint64_t>(pinned.left() / 4, std::uint64_t{64} << 10, std::uint64_t{8} << 20);
}

}  // namespace

struct DocumentWords::Device {
  DeviceArray<std::uint32_t> words;
};

std::uint64_t DocumentWords::bytes_needed(const FeatureExtractor& extractor) {
  // A section ends with bytes that may be read after a document.
  const FeatureShard& last = extractor.shards().back();
  return MemoryAccount::rounded(last.first_byte + last.forward.section_bytes() + sizeof(std::uint32_t));
}

DocumentWords::DocumentWords(const FeatureExtractor& extractor, unsigned gpu, MemoryAccount& on_gpu,
                             MemoryAccount& pinned, Progress& progress)
    : device_(std::make_unique<Device>()) {
  const std::uint64_t bytes_of_all = bytes_needed(extractor);
  CUDA_CHECK(cudaSetDevice(static_cast<int>(gpu)));
  device_->words = DeviceArray<std::uint32_t>(on_gpu, MemoryUse::documents, bytes_of_all / sizeof(std::uint32_t));
  auto* const to = reinterpret_cast<std::uint8_t*>(device_->words.data());
  const CudaStream stream;
  const std::uint64_t buffer_bytes = buffer_bytes_of(pinned);
  struct Buffer {
    PinnedArray<std::uint8_t> bytes;
    CudaEvent copied;
  };
  std::array<Buffer, 2> buffers;
  for (Buffer& buffer : buffers) buffer.bytes = PinnedArray<std::uint8_t>(pinned, MemoryUse::pinned, buffer_bytes);
  const StreamEnd end(stream);
  progress.start("copy documents to the GPU", bytes_of_all, "bytes");
  std::size_t next = 0;
  for (const FeatureShard& shard : extractor.shards()) {
    const std::uint64_t section_bytes = shard.forward.section_bytes();
    for (std::uint64_t from = 0; from < section_bytes; from += buffer_bytes) {
      Buffer& buffer = buffers[next++ % buffers.size()];
      buffer.copied.wait();
      const ByteView bytes = shard.forward.section_part({from, std::min(from + buffer_bytes, section_bytes)});
      std::memcpy(buffer.bytes.data(), bytes.data(), bytes.size());
      copy_to_device(to + shard.first_byte + from, buffer.bytes.data(), bytes.size(), stream);
      buffer.copied.record(stream);
      extractor.memory().note_read(bytes.size());
      progress.add(bytes.size());
    }
  }
  stream.wait();
  progress.finish();
}

DocumentWords::~DocumentWords() = default;

const std::uint32_t* DocumentWords::words() const { return device_->words.data(); }

}  // namespace quern::gpu
