#pragma once
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "quern/api/internal/processors.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/lab/query_bench.hpp"

#include "command.hpp"
#include "figures.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

/// Parts of the commands `quern bench NAME`; each command has a file of that name.
namespace quern::tools {

/// Adds `quern bench NAME` as add_command() does, with --json and the options of all commands.
template <class Arguments>
AddedCommand<Arguments> add_bench(CLI::App& bench, const char* name, const char* help, void (*run)(const Arguments&)) {
  const AddedCommand<Arguments> added = add_command<Arguments>(bench, name, help, run);
  added.command.add_flag("--json", added.arguments.common.json, "Print figures as JSON");
  add_common_options(added.command, added.arguments.common);
  return added;
}

/// --repeats: the number of measurements; the median counts.
void add_repeats_option(CLI::App& command, unsigned& repeats, const char* help);

/// --gpus: numbers of GPUs to measure with, a row for each; 0: all.
template <class Number>
void add_gpu_counts_option(CLI::App& command, std::vector<Number>& gpus) {
  add_option(command, "--gpus", gpus, "N",
             "Numbers of GPUs to measure with, starting with --gpu, or all; a row for each")
      ->delimiter(',')
      ->transform(gpus_validator())
      ->capture_default_str();
}

/// The output of a benchmark: text and tables while it runs, or with --json one object at its end, which begins with
/// the benchmark's name and environment. Construct it before the work, since the environment includes the machine's
/// load.
class BenchReport {
 public:
  BenchReport(const char* bench, const CommonOptions& common);

  Json json;

  /// Adds the row to the JSON array `key`, unless that is empty, and to the next table.
  void add(const char* key, Row row);
  /// Prints the rows added since the last table, which they continue if only their values differ.
  void print_table() { print_text(table_.take_text()); }
  /// Prints text for people.
  template <class... Values>
  void say(fmt::format_string<Values...> format, Values&&... values) {
    table_.end();
    print_text(fmt::format(format, std::forward<Values>(values)...));
  }
  /// Prints the JSON object with --json.
  void finish() const;

 private:
  void print_text(const std::string& text);

  bool as_json_, has_printed_ = false;
  FigureTable table_;
};

/// The engines of an index's shards, all with the same scoring.
class ShardEngines {
 public:
  /// `index` must outlive the object. Throws as QueryEngine does.
  ShardEngines(const IndexShards& index, const ScoringArguments& scoring, const QuerySource& queries);

  const QueryEngine& first() const { return *processors_.engines().front(); }
  CpuBackend& backend() { return *backend_; }

 private:
  api::SearchProcessors processors_;
  std::optional<CpuBackend> backend_;
};

/// Precision of scores, or the scoring function with early termination, in words.
std::string scoring_text(const QueryEngine& engine);

// --times of benchmarks: a file with the time of each query.

struct TimesOptions {
  std::string path;  ///< empty: no file is asked for
  bool force = false;
};

/// --times and --force.
void add_times_options(CLI::App& command, TimesOptions& options);

/// The file of times that a command writes when all is measured.
class TimesOutput {
 public:
  /// For queries of this engine. Throws IoError, before anything is measured, if the file is there and may not be
  /// replaced.
  TimesOutput(const TimesOptions& options, const QueryEngine& engine);

  QueryTimeTable& times() { return times_; }
  /// Adds a row per query; `like` holds the values that all rows share.
  void add(const QueryTime& like, std::span<const MeasuredQuery> queries);
  void finish();

 private:
  TextOutput out_;
  QueryTimeTable times_;
};

}  // namespace quern::tools
