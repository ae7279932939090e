#pragma once
#include "quern/lab/rerank_bench.hpp"

/// Measures the speed of learned models on a GPU.
namespace quern {

struct GpuRerankBenchOptions {
  unsigned gpu = 0;
  std::uint64_t ranker_bytes = std::uint64_t{1} << 30;  ///< GPU memory for models
  bool fast_math = false;
  /// Minimum seconds of work to measure energy, since counters change about ten times per second.
  double energy_seconds = 1;
};

struct GpuRankerLoad {
  std::string ranker;
  bool on_gpu = false;  ///< false: it did not fit, the CPU scores instead
  std::uint64_t bytes = 0;
  double seconds = 0;                ///< preparing and copying it
  std::optional<double> difference;  ///< with fast math: see largest_difference()
};

/// Wall-clock times per query; features, in pinned memory, and scores are on the host.
struct GpuRerankFigures : RerankFigures {
  bool on_gpu = false;
  double copy_in = 0, copy_out = 0;  ///< seconds per query, not included in `stages`, by the GPU's clock
};

struct GpuRerankResult {
  std::vector<GpuRankerLoad> loads;       ///< by model
  std::vector<GpuRerankFigures> figures;  ///< by model and number of documents
};

/// Runs the benchmark of measure_reranking() on a GPU, driven by one thread. Throws Error if a score differs in a bit
/// from the CPU's (except with fast math), CudaError, and InvalidArgument like measure_reranking().
GpuRerankResult measure_gpu_reranking(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                                      const RerankBenchOptions& options, const GpuRerankBenchOptions& on_gpu,
                                      Progress& progress);

}  // namespace quern
