#include "bench/bench.hpp"

#include <fmt/format.h>

#include "quern/formats/index_file.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/io/checksum.hpp"
#include "quern/lab/environment.hpp"

#include "figures.hpp"
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

Row time_figures(const LatencySummary& times, const std::vector<const char*>& heads, const char* format, double scale,
                 const std::string& path) {
  Row row;
  const Json json = times_json(times);
  for (const auto& [key, us] : json.items())
    row.push_back({path + key, us, row.size() < heads.size() ? heads[row.size()] : "", format, scale});
  return row;
}

Row stream_counts(const ScheduleFigures& figures, const std::string& path) {
  return {{path + "queries", figures.queries},
          {path + "on_cpu", figures.on_cpu},
          {path + "on_gpu", figures.on_gpu},
          {path + "batches", figures.batches},
          {path + "seconds", figures.seconds},
          {path + "missed", figures.missed, "missed"},
          {path + "gpu_share", ratio(figures.on_gpu, figures.queries), "on GPU", "{:.1f} %", 100}};
}

BenchReport::BenchReport(const char* bench, const CommonOptions& common)
    : json({{"bench", bench}, {"environment", describe_environment()}}), as_json_(common.json) {}

void BenchReport::add(const char* key, Row row) {
  if (*key != '\0') json[key].push_back(to_json(row));
  table_.add(std::move(row));
}

std::string FigureTable::take_text() {
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
  return text;
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
  if (as_json_) print(json.dump(1) + "\n");
}

namespace {

Json json_of_shards(const std::string& name, std::span<const IndexReader> shards) {
  const IndexManifest& manifest = shards.front().manifest();
  std::uint64_t documents = 0, postings = 0, docid_bits = 0, freq_bits = 0, block_max_bytes = 0, file_bytes = 0;
  for (const IndexReader& shard : shards) {
    const IndexFigures figures = index_figures(shard);
    documents += shard.manifest().documents;
    postings += shard.manifest().postings;
    docid_bits += shard.manifest().coded.docid_bits;
    freq_bits += shard.manifest().coded.freq_bits;
    block_max_bytes += figures.block_max_bytes;
    file_bytes += figures.file_bytes;
  }
  Json json = {{"index", name},
               {"documents", documents},
               {"terms", manifest.terms},
               {"postings", postings},
               {"order", manifest.order},
               {"codec", manifest.codec},
               {"block_size", manifest.codec_options.block_size},
               {"recursion", manifest.codec_options.recursion},
               {"docid_bits_per_posting", ratio(docid_bits, postings)},
               {"freq_bits_per_posting", ratio(freq_bits, postings)},
               {"block_max_bits_per_posting", ratio(8 * block_max_bytes, postings)},
               {"file_bytes", file_bytes}};
  if (shards.size() == 1) return json;
  json.erase("terms");  // which several shards may have
  json["shards"] = shards.size();
  return json;
}

}  // namespace

Json index_json(const IndexReader& index) { return json_of_shards(index.name(), {&index, 1}); }
Json index_json(const IndexShards& index) { return json_of_shards(index.name(), index); }

ShardEngines::ShardEngines(const IndexShards& index, const ScoringArguments& scoring, const QuerySource& queries)
    : processors_(index, {}, {}, 1) {
  processors_.open_engines([&](const IndexReader& shard) { return scoring_options(scoring, shard, queries); });
  backend_.emplace(processors_.engines());
}

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
  CLI::Option* times =
      mark_output(add_option(command, "--times", options.path, "FILE",
                             "Write the time of each query, and the inputs for predicting it, to this file"));
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
