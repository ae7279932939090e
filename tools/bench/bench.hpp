#pragma once
#include <CLI/CLI.hpp>

#include <memory>
#include <span>
#include <string>

#include "quern/formats/tables/query_times.hpp"
#include "quern/lab/query_bench.hpp"

#include "command.hpp"
#include "query_options.hpp"

/// What the commands `quern bench NAME` share; each has a file of that name.
namespace quern {
class IndexReader;
}

namespace quern::tools {

/// --repeats: the number of measurements; the median counts.
void add_repeats_option(CLI::App& command, unsigned& repeats, const char* help);

/// Machine, build, date and command line, as every benchmark's JSON has them under "environment".
Json environment_json();
/// One line of them, for people.
std::string environment_line();
/// Counts, codec, order and bits per posting of an index.
Json index_json(const IndexReader& index);
/// As tables show rates.
inline double billions(double rate) { return rate / 1e9; }

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
  /// Adds a row per query to the times; `like` says what all have in common.
  void add(const QueryTime& like, std::span<const MeasuredQuery> queries);
  void finish();

 private:
  TextOutput out_;
  QueryTimeTable times_;
};

}  // namespace quern::tools
