#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/reranker.hpp"
#include "quern/rank/run_topics.hpp"
#include "quern/search/query_memory.hpp"

#include "command.hpp"

/// What commands of the second stage share: the list of features, the model, and runs with their topics.
namespace quern::tools {

/// --features.
void add_features_option(CLI::App& command, std::string& features, const std::string& help);

/// A model, and the list of features that it was trained with.
struct RankerArguments {
  std::string ranker, features = "all";
};
/// --ranker and --features; returns the option --ranker.
CLI::Option* add_ranker_options(CLI::App& command, RankerArguments& arguments);

/// Reads the model and binds its features.
BoundModel bind_model(const RankerArguments& arguments);
/// The same for one index. Both readers and the memory must stay.
Reranker make_reranker(const RankerArguments& arguments, const IndexReader& index, const ForwardReader& forward,
                       const FeatureMemory& memory);

/// How the memory of a command that works on a run is divided: mapped pages, where terms are in documents, topics or
/// lines that are in flight; what is left is for RunTopics.
struct SecondStageMemory {
  explicit SecondStageMemory(const IndexReader& index, const ForwardReader& forward, const Resources& resources);

  IndexPages pages;
  FeatureMemory features;
  std::uint64_t in_flight_bytes;
};

/// A run, and the topics that it was made with.
struct RunArguments {
  std::string run, topics;
  QueryFormat format = QueryFormat::automatic;
};
/// --run, -q/--queries and --queries-format.
void add_run_options(CLI::App& command, RunArguments& arguments);
/// Throws wrong usage unless the first two are given.
void require_run(const RunArguments& arguments);

/// The topics and the lines of the run, and judgements if `qrels` is not empty, joined; `topics` gets the number of the
/// run's topics. The index and the pages must stay.
RunTopics read_run_topics(const RunArguments& arguments, const std::string& qrels, const IndexReader& index,
                          IndexPages& pages, const CommonOptions& options, const Resources& resources,
                          std::uint64_t& topics);

// How GPUs rerank: options of commands with a second stage.

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
