#pragma once
#include "quern/api/second_stage.hpp"
#include "quern/formats/queries/query_file.hpp"

#include "command.hpp"

/// Options of commands with a second stage: the model with its features, the run of the first stage, and GPUs.
namespace quern::tools {

/// --features.
void add_features_option(CLI::App& command, std::string& features, const std::string& help);
/// --ranker and --features; returns the option --ranker.
CLI::Option* add_ranker_options(CLI::App& command, api::RankerOptions& ranker);
/// --ranker-memory, --gpu-from and --fast-math.
void add_gpu_rerank_options(CLI::App& command, api::RankerOptions& ranker);

/// A run, and the topics that it was made with.
struct RunArguments {
  std::string run, topics, qrels;
  QueryFormat format = QueryFormat::automatic;
};
/// --run, -q/--queries and --queries-format.
void add_run_options(CLI::App& command, RunArguments& arguments);
/// Throws wrong usage unless the run and the topics are given.
void require_run(const RunArguments& arguments);
/// The run for the library, with remarks on the topics. The arguments must stay.
api::FirstStage first_stage(const RunArguments& arguments, const CommonOptions& options, const Resources& resources);

/// --ranker, --features and --rerank of a command that answers queries.
struct SecondStageArguments {
  api::RankerOptions ranker;
  std::size_t rerank = 1000;  ///< documents of a query that the model scores
  bool is_set = false;        ///< --rerank or --features is given

  bool wanted() const { return !ranker.model.empty(); }
  /// Throws usage errors for options that have no effect, and if fewer than k documents are to be reranked.
  void check(std::size_t k) const;
};
void add_second_stage_options(CLI::App& command, SecondStageArguments& arguments);

}  // namespace quern::tools
