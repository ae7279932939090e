#include "quern/codec/rpfd_layout.hpp"
#include "quern/gpu/papers/partition/partition_kernels.hpp"
#include "quern/gpu/worker/strategy_run.cuh"

namespace quern::gpu {
namespace {

PartitionMethod method_of(const BatchWork& work) {
  if (work.intersect) return PartitionMethod::intersect;
  if (work.pruning == Pruning::none) return PartitionMethod::unite;
  return work.pruning == Pruning::lists ? PartitionMethod::wand : PartitionMethod::block_max_wand;
}

/// The strategy of Huang et al. As many thread blocks as can run and have working memory take queries from a queue.
class PartitionRun final : public WindowedRun {
 public:
  PartitionRun(const DeviceIndex& index, MemoryAccount& account, const StrategyOptions& options)
      : WindowedRun(index, account),
        coding_(serial_coding(index.device().coding)),
        threads_(options.partitions),
        max_bytes_(account.left() / 2),
        buffer_(account, MemoryUse::working),
        stage_cycles_(account, MemoryUse::working, partition_stages),
        host_cycles_(index.pinned(), MemoryUse::pinned, partition_stages) {
    with_coding(coding_, [&]<Coding coding>() {
      resident_ = PartitionKernels<serial_coding(coding)>::resident(threads_, device().quantized);
    });
  }

  void free_memory() override {
    WindowedRun::free_memory();
    buffer_.release();
  }

  /// Divides the kernel's time like the cycles of its thread blocks.
  void add_times(const CudaEvent& started, const CudaEvent& ended, BatchTimes& times) const override {
    const double us = ended.us_since(started);
    double sum = 0;
    for (unsigned i = 0; i < partition_stages; ++i) sum += static_cast<double>(host_cycles_.data()[i]);
    const auto share = [&](unsigned stage) {
      return sum == 0 ? 0 : us * static_cast<double>(host_cycles_.data()[stage]) / sum;
    };
    times.decode_us = share(0);
    times.finish_us = share(2);
    times.unite_us = us - times.decode_us - times.finish_us;
  }

  void prepare(const QueryBatch& batch, const BatchWork& work) override {
    const IndexView& index = device().view;
    std::uint32_t max_terms = 0;
    for (const BatchQuery& query : batch.queries) max_terms = std::max(max_terms, query.terms);
    work_ = {};
    work_.method = method_of(work);
    work_.max_static_score = batch.max_static_score();
    work_.layout = PartitionLayout(threads_, max_terms, work_.method, work.k, index.block_size, !device().quantized,
                                   coding_ == Coding::rpfd ? rpfd::arrays_of(index.recursion) * index.block_size : 0);
    const std::uint64_t block_bytes = work_.layout.words * sizeof(std::uint32_t);
    if (block_bytes > max_bytes_)
      throw GpuOutOfMemory("strategy partition needs " + size_text(block_bytes) + " of GPU memory for a query of " +
                           std::to_string(max_terms) + " terms, but may use only " + size_text(max_bytes_) +
                           " here; use fewer partitions or another strategy");
    blocks_ =
        static_cast<unsigned>(std::min<std::uint64_t>({resident_, batch.queries.size(), max_bytes_ / block_bytes}));
    work_.buffer = buffer_.reserve(blocks_ * work_.layout.words);
    work_.stage_cycles = stage_cycles_.data();
  }

 private:
  void find(const IndexView& index, const BatchView& view, const QueryBatch&, std::span<const ListView>,
            const BatchWork&, const CudaStream& stream) override {
    fill_zero(stage_cycles_.data(), partition_stages, stream);
    with_coding(coding_, [&]<Coding coding>() {
      PartitionKernels<serial_coding(coding)>::run(index, view, work_, blocks_, device().quantized, stream);
    });
    copy_to_host(host_cycles_.data(), stage_cycles_.data(), partition_stages, stream);
  }

  Coding coding_;
  unsigned threads_, resident_ = 0;  ///< resident thread blocks
  std::uint64_t max_bytes_;
  unsigned blocks_ = 0;  ///< of the batch
  PartitionWork work_;
  DeviceArray<std::uint32_t> buffer_;
  DeviceArray<unsigned long long> stage_cycles_;
  PinnedArray<unsigned long long> host_cycles_;
};

}  // namespace

std::unique_ptr<StrategyRun> make_partition(const DeviceIndex& index, MemoryAccount& account,
                                            const StrategyOptions& options) {
  return std::make_unique<PartitionRun>(index, account, options);
}

}  // namespace quern::gpu
