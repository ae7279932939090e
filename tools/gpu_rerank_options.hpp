#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "quern/gpu/failover.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"

#include "command.hpp"

/// How GPUs rerank: options of commands with a second stage.
namespace quern::tools {

struct GpuRerankArguments {
  std::string ranker_memory;
  std::optional<std::size_t> fewest_documents;
  bool fast_math = false;

  bool is_set() const { return !ranker_memory.empty() || fewest_documents || fast_math; }
};

/// --ranker-memory, --gpu-from and --fast-math.
void add_gpu_rerank_options(CLI::App& command, GpuRerankArguments& arguments);

/// What a second stage may take.
struct GpuRerankMemory {
  std::optional<std::uint64_t> on_gpu;  ///< default: what is free
  std::uint64_t parts = 1;              ///< see GpuRerankOptions
  std::uint64_t pinned = 0;             ///< host memory that copies pin
  unsigned threads = 1;
};

/// A second stage by these options: see gpu::make_gpu_reranker().
std::unique_ptr<gpu::GpuReranker> make_gpu_reranker(const Reranker& on_cpu, QueryDevice device, unsigned gpu,
                                                    const GpuRerankArguments& arguments, const GpuRerankMemory& memory,
                                                    Progress& progress, const FailoverNotice& notice);

/// Where documents were scored, for --stats.
Json gpu_rerank_json(const gpu::GpuRerankCounts& counts);

}  // namespace quern::tools
