#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/rerank/reranker.hpp"
#include "quern/rerank/run_topics.hpp"

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

/// Reads the model and binds its features. Both readers must stay.
Reranker make_reranker(const RankerArguments& arguments, const IndexReader& index, const ForwardReader& forward);

/// A run, and the topics that it was made with.
struct RunArguments {
  std::string run, topics;
  QueryFormat format = QueryFormat::automatic;
};
/// --run, -q/--queries and --queries-format.
void add_run_options(CLI::App& command, RunArguments& arguments);
/// Throws wrong usage unless the first two are given.
void require_run(const RunArguments& arguments);

std::vector<TopicResults> read_topic_results(const RunArguments& arguments, const IndexReader& index,
                                             const CommonOptions& options, const Resources& resources);

}  // namespace quern::tools
