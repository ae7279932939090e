#pragma once
#include <memory>
#include <span>
#include <string>

#include "quern/formats/tables/query_times.hpp"
#include "quern/lab/query_bench.hpp"

#include "query_options.hpp"

/// --times of benchmarks: a file with the time of each query.
namespace quern::tools {

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
