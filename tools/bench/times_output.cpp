#include "bench/times_output.hpp"

#include "quern/io/checksum.hpp"

#include "output_files.hpp"

namespace quern::tools {

void add_times_options(CLI::App& command, TimesOptions& options) {
  CLI::Option* times = mark_output(command.add_option(
      "--times", options.path, "Write the time of each query, and what it could be predicted from, to this file"));
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
