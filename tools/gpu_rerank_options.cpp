#include "gpu_rerank_options.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "quern/core/size_text.hpp"
#include "quern/gpu/rerank_device.hpp"

namespace quern::tools {

void add_gpu_rerank_options(CLI::App& command, GpuRerankArguments& arguments) {
  command
      .add_option("--ranker-memory", arguments.ranker_memory,
                  "Of a GPU's memory, the part for models (default: an eighth); with a larger model the CPU reranks")
      ->type_name("SIZE")
      ->check(size_validator());
  add_number_option(command, "--gpu-from", arguments.fewest_documents, "N",
                    "Fewest documents that a GPU reranks together; fewer are the CPU's (default: by the model's size)",
                    1, std::numeric_limits<std::size_t>::max());
  command.add_flag(
      "--fast-math", arguments.fast_math,
      "On a GPU, compute wide layers of networks by tensor cores: faster, but scores differ from the CPU's");
}

std::unique_ptr<gpu::GpuReranker> make_gpu_reranker(const Reranker& on_cpu, QueryDevice device, unsigned gpu,
                                                    const GpuRerankArguments& arguments, const GpuRerankMemory& memory,
                                                    Progress& progress, const FailoverNotice& notice) {
  gpu::GpuRerankOptions options;
  options.gpu = gpu;
  options.memory_bytes = memory.on_gpu;
  options.memory_parts = memory.parts;
  options.pinned_bytes = memory.pinned;
  options.threads = memory.threads;
  if (!arguments.ranker_memory.empty()) options.ranker_bytes = parse_size(arguments.ranker_memory);
  options.fewest_documents = arguments.fewest_documents;
  options.fast_math = arguments.fast_math;
  options.notice = notice;
  return gpu::make_gpu_reranker(on_cpu, device, std::move(options), progress);
}

Json gpu_rerank_json(const gpu::GpuRerankCounts& counts) {
  return {{"documents_on_gpu", counts.documents_on_gpu},
          {"documents_on_cpu", counts.documents_on_cpu},
          {"batches", counts.batches},
          {"without_room", counts.without_room}};
}

}  // namespace quern::tools
