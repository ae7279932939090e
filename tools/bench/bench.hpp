#pragma once
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quern/formats/index_shards.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/lab/query_bench.hpp"

#include "command.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

/// Parts of the commands `quern bench NAME`; each command has a file of that name.
namespace quern::tools {

/// Adds `quern bench NAME` with --json and the options of all commands. `run` gets the arguments, which live as long as
/// the command.
template <class Arguments>
std::pair<CLI::App&, Arguments&> add_bench(CLI::App& bench, const char* name, const char* help,
                                           void (*run)(const Arguments&)) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* command = bench.add_subcommand(name, help);
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  command->callback([arguments, run] { run(*arguments); });
  return {*command, *arguments};
}

/// --repeats: the number of measurements; the median counts.
void add_repeats_option(CLI::App& command, unsigned& repeats, const char* help);

/// --scores and --scorer.
void add_bench_scoring_options(CLI::App& command, ScoringArguments& arguments);

/// --gpus: numbers of GPUs to measure with, a row for each; 0: all.
template <class Number>
void add_gpu_counts_option(CLI::App& command, std::vector<Number>& gpus) {
  command.add_option("--gpus", gpus, "Numbers of GPUs to measure with, starting with --gpu, or all; a row for each")
      ->type_name("N")
      ->delimiter(',')
      ->transform(gpus_validator())
      ->capture_default_str();
}

/// A figure of a row: a value of a JSON object and, if it has a head, a cell of a table.
struct Figure {
  std::string key;  ///< empty: not in JSON
  Json value;
  std::string head = {};  ///< of the column; empty: not in tables
  const char* format = "{}";
  double scale = 1;  ///< of numbers in tables
};
using Row = std::vector<Figure>;

Json to_json(const Row& row);

/// A column of a table of JSON objects.
struct Column {
  std::string head;
  const char* path;  ///< of the value, such as "measured/mean_us"; a missing value is a dash
  const char* format = "{}";
  double scale = 1;
};

/// See describe_environment().
Json environment_json();

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
  void print_table();
  /// Prints objects that the library made.
  void print_table(const Json& objects, const std::vector<Column>& columns);
  /// Prints text for people.
  template <class... Values>
  void say(fmt::format_string<Values...> format, Values&&... values) {
    say_text(fmt::format(format, std::forward<Values>(values)...));
  }
  /// Prints the JSON object with --json.
  void finish();

 private:
  void say_text(const std::string& text);
  void print_text(const std::string& text);

  bool as_json_, has_printed_ = false;
  std::vector<Row> rows_;
  std::vector<std::string> heads_;   ///< of the last table
  std::vector<std::size_t> widths_;  ///< of its columns
};

/// Counts, codec, order and bits per posting of an index, or of all its shards.
Json index_json(const IndexReader& index);
Json index_json(const IndexShards& index);
/// `part` / `whole`, or 0 if there is nothing.
template <class Part, class Whole>
double ratio(Part part, Whole whole) {
  return whole == Whole{} ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// The engines of an index's shards, all with the same scoring.
struct ShardEngines {
  /// `index` must outlive the engines. Throws as QueryEngine does.
  ShardEngines(const IndexShards& index, const ScoringArguments& scoring, const QuerySource& queries);

  std::deque<QueryEngine> engines;
  CpuBackend backend;
};

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
  /// `scoring`: in words. Throws IoError, before anything is measured, if the file is there and may not be replaced.
  TimesOutput(const TimesOptions& options, const IndexReader& index, std::string scoring);

  QueryTimeTable& times() { return times_; }
  /// Adds a row per query; `like` holds the values that all rows share.
  void add(const QueryTime& like, std::span<const MeasuredQuery> queries);
  void finish();

 private:
  TextOutput out_;
  QueryTimeTable times_;
};

}  // namespace quern::tools
