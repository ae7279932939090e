#include <algorithm>
#include <string>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/intersect/merge_find.hpp"
#include "quern/lab/gpu/merge_find_bench.hpp"
#include "quern/lab/measurement.hpp"

namespace quern::gpu {
namespace {

constexpr std::uint32_t mean_gap = 16, max_elements = 1u << 27;

__global__ void __launch_bounds__(plain_threads)
    run_pass(MergeFindPasses passes, unsigned pass, const std::uint32_t* a, std::uint32_t a_count,
             const std::uint32_t* b, std::uint32_t b_count, std::uint32_t* found) {
  const std::uint64_t i = (std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x) * passes.stride(pass);
  if (i >= a_count || passes.looked_up(static_cast<std::uint32_t>(i), pass)) return;
  found[i] = merge_find(passes, pass, a, a_count, static_cast<std::uint32_t>(i), b, b_count, found);
}

/// `count` rising docIDs, about evenly spread over those below `limit`.
std::vector<std::uint32_t> rising_docids(RandomBits& random, std::uint32_t count, std::uint64_t limit) {
  std::vector<std::uint32_t> docids(count);
  const std::uint64_t most = std::max<std::uint64_t>(2 * (limit / count) - 1, 1);
  std::uint64_t docid = 0;
  for (std::uint32_t& each : docids) each = static_cast<std::uint32_t>(docid += 1 + random.below(most));
  return docids;
}

/// Two lists on the device.
class Lists {
 public:
  Lists(const MergeFindFigures& lengths, std::uint64_t seed) {
    RandomBits random(seed);
    const std::uint64_t limit = std::uint64_t{std::max(lengths.elements, lengths.in)} * mean_gap;
    host_a_ = rising_docids(random, lengths.elements, limit);
    host_b_ = rising_docids(random, lengths.in, limit);
    a_ = DeviceArray<std::uint32_t>(host_a_.size());
    b_ = DeviceArray<std::uint32_t>(host_b_.size());
    found_ = DeviceArray<std::uint32_t>(host_a_.size());
    copy_to_device(a_.data(), host_a_.data(), host_a_.size(), stream_);
    copy_to_device(b_.data(), host_b_.data(), host_b_.size(), stream_);
  }

  /// Microseconds.
  double find(unsigned levels) const {
    const auto count = static_cast<std::uint32_t>(host_a_.size());
    const MergeFindPasses passes(count, levels);
    begun_.record(stream_);
    for (unsigned pass = 0; pass < passes.passes(); ++pass) {
      const std::uint32_t searches = (count - 1) / passes.stride(pass) + 1;
      run_pass<<<(searches - 1) / plain_threads + 1, plain_threads, 0, stream_>>>(
          passes, pass, a_.data(), count, b_.data(), static_cast<std::uint32_t>(host_b_.size()), found_.data());
      CUDA_CHECK(cudaGetLastError());
    }
    ended_.record(stream_);
    ended_.wait();
    return ended_.us_since(begun_);
  }

  void check(unsigned levels) const {
    CUDA_CHECK(cudaMemsetAsync(found_.data(), 0xa5, found_.size_bytes(), stream_));
    find(levels);
    std::vector<std::uint32_t> found(host_a_.size());
    copy_to_host(found.data(), found_.data(), found.size(), stream_);
    stream_.wait();
    auto place = host_b_.begin();
    for (std::size_t i = 0; i < found.size(); ++i) {
      place = std::find_if(place, host_b_.end(), [&](std::uint32_t docid) { return docid >= host_a_[i]; });
      if (found[i] != static_cast<std::uint64_t>(place - host_b_.begin()))
        throw Error("merge find with " + std::to_string(levels) + " levels finds another place for element " +
                    std::to_string(i) + " than the CPU; please report this");
    }
  }

 private:
  Stream stream_;
  Event begun_, ended_;
  std::vector<std::uint32_t> host_a_, host_b_;
  DeviceArray<std::uint32_t> a_, b_, found_;
};

}  // namespace

std::vector<MergeFindFigures> measure_merge_find(std::span<const MergeFindFigures> lengths,
                                                 const MergeFindBenchOptions& options, Progress& progress) {
  check_merge_find_options(options);
  CUDA_CHECK(cudaSetDevice(static_cast<int>(options.gpu)));
  std::vector<MergeFindFigures> all(lengths.begin(), lengths.end());
  progress.start("find", all.size(), "pairs of lists");
  for (MergeFindFigures& figures : all) {
    if (std::min(figures.elements, figures.in) == 0 || std::max(figures.elements, figures.in) > max_elements)
      throw InvalidArgument("lists of 1 to " + std::to_string(max_elements) + " docIDs can be measured");
    const Lists lists(figures, options.seed);
    figures.us.clear();
    for (unsigned levels = 0; levels <= max_merge_find_levels; ++levels) {
      lists.check(levels);
      std::vector<double> us;
      for (unsigned i = 0; i < options.repeats; ++i) us.push_back(lists.find(levels));
      figures.us.push_back(median(us));
    }
    progress.add(1);
  }
  progress.finish();
  return all;
}

}  // namespace quern::gpu
