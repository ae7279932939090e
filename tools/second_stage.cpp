#include "second_stage.hpp"

#include <limits>

#include "query_options.hpp"

namespace quern::tools {

void add_features_option(CLI::App& command, std::string& features, const std::string& help) {
  add_option(command, "--features", features, "LIST", help)->capture_default_str();
}

CLI::Option* add_ranker_options(CLI::App& command, api::RankerOptions& ranker) {
  add_features_option(
      command, ranker.features,
      "The --features list used when the model was trained, which gives its feature numbers their meaning");
  return add_option(command, "--ranker", ranker.model, "MODEL",
                    "Reorder the results with this learned model: a LightGBM, XGBoost or RankLib file, or one of "
                    "Quern's own descriptions");
}

void add_run_options(CLI::App& command, RunArguments& arguments) {
  add_option(command, "--run", arguments.run, "FILE",
             "The run of the first stage, in TREC's format; - is standard input");
  add_option(command, "-q,--queries", arguments.topics, "FILE",
             "The topics that it was produced with, plain, gzip or zstd");
  add_query_format_option(command, arguments.format, "Format of the topics");
}

void require_run(const RunArguments& arguments) {
  if (arguments.run.empty()) throw usage_error("--run is required");
  if (arguments.topics.empty()) throw usage_error("--queries is required");
}

api::FirstStage first_stage(const RunArguments& arguments, const CommonOptions& options, const Resources& resources) {
  const auto topics = [&](const QueryVisitor& take) {
    QueryRemarks remarks(options, arguments.format);
    const QueryFormat format = QueryLogFile(arguments.topics, arguments.format, resources)
                                   .for_each([&](std::string_view id, std::string_view text) {
                                     remarks.look_at(text);
                                     take(id, text);
                                   });
    say_format(options, arguments.topics, arguments.format, format);
  };
  return {arguments.run, topics, source_name(arguments.topics), arguments.qrels};
}

void add_gpu_rerank_options(CLI::App& command, api::RankerOptions& ranker) {
  add_size_option(command, "--ranker-memory", ranker.ranker_bytes,
                  "GPU memory for models (default: an eighth); the CPU reranks with larger models");
  add_number_option(
      command, "--gpu-from", ranker.fewest_documents, "N",
      "Minimum documents that a GPU reranks together; the CPU reranks fewer (default: depends on the model's size)", 1,
      std::numeric_limits<std::size_t>::max());
  command.add_flag("--fast-math", ranker.fast_math,
                   "On a GPU, compute wide network layers with tensor cores: faster, but scores differ from the CPU's");
}

void SecondStageArguments::check(std::size_t k) const {
  if (!wanted() && is_set) throw usage_error("--rerank and --features need --ranker");
  if (!wanted() && (ranker.ranker_bytes || ranker.fewest_documents || ranker.fast_math))
    throw usage_error("--gpu-options: ranker-memory, gpu-from and fast-math need --ranker");
  if (wanted() && rerank < k) throw usage_error("--rerank {} is less than -k {}", rerank, k);
}

void add_second_stage_options(CLI::App& command, SecondStageArguments& arguments) {
  add_ranker_options(command, arguments.ranker);
  add_number_option(command, "--rerank", arguments.rerank, "N",
                    "With --ranker: how many of the query algorithm's top documents the model scores (at least -k)", 1,
                    end_docid);
  for (const char* const option : {"--rerank", "--features"})
    command.get_option(option)->each([&arguments](const std::string&) { arguments.is_set = true; });
}

}  // namespace quern::tools
