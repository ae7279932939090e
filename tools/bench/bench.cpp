#include "bench/bench.hpp"

#include "quern/io/checksum.hpp"

namespace quern::tools {

BenchReport::BenchReport(const char* bench, const CommonOptions& common)
    : json({{"bench", bench}, {"environment", describe_environment()}}), as_json_(common.json) {}

void BenchReport::add(const char* key, Row row) {
  if (*key != '\0') json[key].push_back(to_json(row));
  table_.add(std::move(row));
}

void BenchReport::print_text(const std::string& text) {
  if (as_json_) return;
  if (!std::exchange(has_printed_, true)) {
    const auto& here = json["environment"];
    print(fmt::format("quern {}, {}, {} cores, {}, {}, load {:.1f}\n", here["version"].get<std::string>(),
                      here["processor"].get<std::string>(), here["cores"].get<unsigned>(),
                      here["simd_level"].get<std::string>(), here["date"].get<std::string>(),
                      here["load_average"][0].get<double>()));
  }
  print(text);
}

void BenchReport::finish() const {
  if (as_json_) print_json(json);
}

ShardEngines::ShardEngines(const IndexShards& index, const ScoringArguments& scoring, const QuerySource& queries)
    : processors_(index, {}, {}, 1) {
  processors_.open_engines([&](const IndexReader& shard) { return scoring_options(scoring, shard, queries); });
  backend_.emplace(processors_.engines());
}

void add_repeats_option(CLI::App& command, unsigned& repeats, const char* help) {
  add_number_option(command, "--repeats", repeats, "N", help, 1u, 1000u);
}

void add_times_options(CLI::App& command, TimesOptions& options) {
  CLI::Option* times =
      add_output_option(command, "--times", options.path, "FILE",
                        "Write the time of each query, and the inputs for predicting it, to this file");
  command.add_flag("--force", options.force, "Replace an existing file of times")->needs(times);
}

std::string scoring_text(const QueryEngine& engine) {
  const ScoringOptions& options = engine.options();
  const std::string idf =
      options.idf == Idf::lucene ? "" : fmt::format(", {} IDF", name_of_value(idf_names, options.idf));
  if (options.scorer != Scorer::bm25_pagerank)
    return fmt::format("{} scores{}", name_of_value(scores_names, options.scores), idf);
  return fmt::format("bm25+pagerank with alpha {}{}, early termination {}", options.alpha, idf,
                     engine.ends_early() ? "on" : "off: " + api::spelled(engine.why_not_early()));
}

TimesOutput::TimesOutput(const TimesOptions& options, const QueryEngine& engine) : out_(options.path, options.force) {
  times_.index_hash = hash_text(engine.index().container().content_hash());
  times_.scoring = scoring_text(engine);
}

void TimesOutput::add(const QueryTime& like, std::span<const MeasuredQuery> queries) {
  for (std::size_t i = 0; i < queries.size(); ++i) {
    QueryTime& row = times_.rows.emplace_back(like);
    row.query = i + 1;
    row.us = queries[i].us;
    row.features = queries[i].features;
  }
}

void TimesOutput::finish() {
  out_.write(query_times_text(times_));
  out_.finish();
}

}  // namespace quern::tools
