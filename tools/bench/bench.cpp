#include "bench/bench.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/formats/index_file.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/io/checksum.hpp"
#include "quern/lab/environment.hpp"

#include "output_files.hpp"

namespace quern::tools {

namespace {

/// A number by its format, text as it is, and a dash for nothing.
std::string cell_text(const Figure& figure) {
  const Json& value = figure.value;
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() && std::string_view(figure.format) == "{}") return value.dump();
  return fmt::format(fmt::runtime(figure.format), figure.scale * value.get<double>());
}

}  // namespace

Json environment_json() { return describe_environment(); }

Json to_json(const Row& row) {
  Json json = Json::object();
  for (const Figure& figure : row)
    if (!figure.key.empty()) json[figure.key] = figure.value;
  return json;
}

BenchReport::BenchReport(const char* bench, const CommonOptions& common)
    : json({{"bench", bench}, {"environment", environment_json()}}), as_json_(common.json) {}

void BenchReport::add(const char* key, Row row) {
  if (*key != '\0') json[key].push_back(to_json(row));
  rows_.push_back(std::move(row));
}

void BenchReport::print_table() {
  std::vector<std::vector<std::string>> lines;
  for (const Row& row : rows_) {
    std::vector<std::string> heads, cells;
    for (const Figure& figure : row) {
      if (figure.head.empty()) continue;
      heads.push_back(figure.head);
      cells.push_back(cell_text(figure));
    }
    if (heads != heads_) {
      heads_ = heads;
      widths_.assign(heads.size(), 0);
      lines.push_back(heads);
    }
    lines.push_back(cells);
  }
  rows_.clear();
  for (const auto& line : lines)
    for (std::size_t i = 0; i < std::min(line.size(), widths_.size()); ++i)
      widths_[i] = std::max({widths_[i], line[i].size(), heads_[i].size()});
  std::string text;
  for (const auto& line : lines) {
    text += fmt::format("{:<{}}", line.front(), widths_.front());
    for (std::size_t i = 1; i < line.size(); ++i) text += fmt::format("  {:>{}}", line[i], widths_[i]);
    text += '\n';
  }
  print_text(text);
}

void BenchReport::print_table(const Json& objects, const std::vector<Column>& columns) {
  for (const Json& object : objects) {
    Row& row = rows_.emplace_back();
    for (const Column& column : columns)
      row.push_back({"", object.value(Json::json_pointer(std::string("/") + column.path), Json()), column.head,
                     column.format, column.scale});
  }
  print_table();
}

void BenchReport::say_text(const std::string& text) {
  heads_.clear();
  print_text(text);
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

void BenchReport::finish() {
  if (as_json_) print(json.dump(1) + "\n");
}

Json index_json(const IndexReader& index) {
  const IndexManifest& manifest = index.manifest();
  const IndexFigures figures = index_figures(index);
  return {{"index", index.name()},
          {"documents", manifest.documents},
          {"terms", manifest.terms},
          {"postings", manifest.postings},
          {"order", manifest.order},
          {"codec", manifest.codec},
          {"block_size", manifest.codec_options.block_size},
          {"recursion", manifest.codec_options.recursion},
          {"docid_bits_per_posting", figures.docid_bits_per_posting},
          {"freq_bits_per_posting", figures.freq_bits_per_posting},
          {"block_max_bits_per_posting", figures.block_max_bits_per_posting},
          {"file_bytes", figures.file_bytes}};
}

Json index_json(const IndexShards& index) {
  Json json = index_json(index[0]);
  if (index.size() == 1) return json;
  json.update({{"index", index.name()},
               {"shards", index.size()},
               {"documents", index.num_documents()},
               {"postings", index.num_postings()}});
  json.erase("terms");
  constexpr const char* means[] = {"docid_bits_per_posting", "freq_bits_per_posting", "block_max_bits_per_posting"};
  for (const char* mean : means) json[mean] = 0.0;
  std::uint64_t file_bytes = 0;
  for (const IndexReader& shard : index) {
    const Json figures = index_json(shard);
    file_bytes += figures["file_bytes"].get<std::uint64_t>();
    for (const char* mean : means)
      json[mean] = json[mean].get<double>() +
                   figures[mean].get<double>() * ratio(shard.manifest().postings, index.num_postings());
  }
  json["file_bytes"] = file_bytes;
  return json;
}

namespace {

std::deque<QueryEngine> open_engines(const IndexShards& index, const ScoringArguments& scoring,
                                     const QuerySource& queries) {
  std::deque<QueryEngine> engines;
  for (const IndexReader& shard : index) engines.emplace_back(shard, scoring_options(scoring, shard, queries));
  return engines;
}

std::vector<const QueryEngine*> pointers_to(const std::deque<QueryEngine>& engines) {
  std::vector<const QueryEngine*> pointers;
  for (const QueryEngine& engine : engines) pointers.push_back(&engine);
  return pointers;
}

}  // namespace

ShardEngines::ShardEngines(const IndexShards& index, const ScoringArguments& scoring, const QuerySource& queries)
    : engines(open_engines(index, scoring, queries)), backend(pointers_to(engines)) {}

void add_repeats_option(CLI::App& command, unsigned& repeats, const char* help) {
  add_number_option(command, "--repeats", repeats, "N", help, 1u, 1000u);
}

void add_bench_scoring_options(CLI::App& command, ScoringArguments& arguments) {
  add_value_option(command, "--scores", arguments.scores, scores_names,
                   with_choices("Precision of scores:", scores_names))
      ->each([&arguments](const std::string&) { arguments.names_scores = true; });
  add_value_option(command, "--scorer", arguments.scorer, scorer_names,
                   with_choices("Scoring function:", scorer_names));
}

void add_times_options(CLI::App& command, TimesOptions& options) {
  CLI::Option* times = mark_output(command.add_option(
      "--times", options.path, "Write the time of each query, and the inputs for predicting it, to this file"));
  times->type_name("FILE");
  command.add_flag("--force", options.force, "Replace an existing file of times")->needs(times);
}

TimesOutput::TimesOutput(const TimesOptions& options, const IndexReader& index, std::string scoring)
    : out_(options.path, options.force) {
  times_.index_hash = hash_text(index.container().content_hash());
  times_.scoring = std::move(scoring);
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
