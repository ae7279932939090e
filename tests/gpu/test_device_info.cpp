#include "quern/gpu/device/device_info.hpp"

#include "catch.hpp"
#include "gpu/skip_without_gpu.hpp"

using namespace quern;

TEST_CASE("a build without CUDA reports so, and lists no GPUs", "[device_info]") {
#ifdef QUERN_HAS_CUDA
  CHECK(built_with_cuda());
#else
  CHECK_FALSE(built_with_cuda());
  CHECK(list_gpus().empty());
#endif
}

TEST_CASE("each GPU is described", "[gpu][device_info]") {
  SKIP_WITHOUT_GPU();
  for (const GpuInfo& gpu : list_gpus()) {
    CHECK_FALSE(gpu.name.empty());
    CHECK(gpu.memory_bytes > (std::uint64_t{1} << 30));
    CHECK(gpu.multiprocessors > 0);
    CHECK(gpu.compute_major >= 5);
    CHECK(gpu.compute_minor < 10);
  }
}
