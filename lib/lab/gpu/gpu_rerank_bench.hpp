#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/lab/rerank_bench.hpp"

/// Measures how fast a GPU scores the documents of queries.
namespace quern {

struct GpuRerankBenchOptions {
  unsigned gpu = 0;
  std::uint64_t ranker_bytes = std::uint64_t{1} << 30;  ///< of the GPU's memory, for models
  bool fast_math = false;
  /// Energy is measured for at least so long, as counters change about ten times per second.
  double energy_seconds = 1;
};

/// How a model came to the GPU.
struct GpuRankerLoad {
  std::string ranker;
  bool on_gpu = false;  ///< false: it has no room there, and the CPU scores instead
  std::uint64_t bytes = 0;
  double seconds = 0;                ///< making it ready, and copying it
  std::optional<double> difference;  ///< the largest one of two scores, in relation to the largest score; of fast math
};

/// Times of a query by the clock: features, in pinned memory, and scores are on the host.
struct GpuRerankFigures : RerankFigures {
  bool on_gpu = false;
  double copy_in = 0, copy_out = 0;  ///< seconds of a query, beside those in `stages`, by the GPU's clock
};

struct GpuRerankResult {
  std::vector<GpuRankerLoad> loads;       ///< by model
  std::vector<GpuRerankFigures> figures;  ///< by model and number of documents
};

/// Scores the documents as measure_reranking() does, with one thread that asks a GPU; throws Error if a score differs
/// from the CPU's in a bit, unless with fast math. Throws InvalidArgument as that does, CudaError.
GpuRerankResult measure_gpu_reranking(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                                      const RerankBenchOptions& options, const GpuRerankBenchOptions& on_gpu,
                                      Progress& progress);

}  // namespace quern
