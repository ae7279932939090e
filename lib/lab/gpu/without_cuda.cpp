#include "quern/lab/gpu/decode_bench.hpp"
#include "quern/lab/gpu/transfer_bench.hpp"

// The measurements in a build without CUDA; cmake/layers.cmake excludes this file from builds with it.
namespace quern {
namespace {

[[noreturn]] void fail() { throw CudaError("this program was built without CUDA; build it with QUERN_CUDA=ON"); }

}  // namespace

namespace gpu {

std::vector<DecodeFigures> measure_decoding(const IndexReader&, const DecodeBenchOptions& options, Progress&) {
  check_decode_options(options);
  fail();
}
std::vector<MergeFindFigures> measure_merge_find(std::span<const MergeFindFigures>,
                                                 const MergeFindBenchOptions& options, Progress&) {
  check_merge_find_options(options);
  fail();
}
void wait_for_copies(DeviceListStore&) { fail(); }
void copy_windows(DeviceListStore&, std::span<const std::vector<WordCopy>>) { fail(); }

}  // namespace gpu

double measure_copy_speed(unsigned) { fail(); }
TransferTime measure_pinned_copy(unsigned, std::uint64_t, unsigned) { fail(); }

}  // namespace quern
