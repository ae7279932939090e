#include "bench/bench.hpp"

#include <fmt/format.h>

#include "quern/formats/index_file.hpp"
#include "quern/index/index_assembly.hpp"
#include "quern/io/checksum.hpp"
#include "quern/lab/environment.hpp"

#include "output_files.hpp"

namespace quern::tools {

Json environment_json() {
  const Environment here = describe_environment();
  return {{"processor", here.processor},
          {"cores", here.cores},
          {"memory_bytes", here.memory_bytes},
          {"system", here.system},
          {"compiler", here.compiler},
          {"build", here.build},
          {"simd_level", here.simd_level},
          {"version", here.version},
          {"date", here.date},
          {"command_line", here.command_line},
          {"load_average", here.load_average}};
}

std::string environment_line() {
  const Environment here = describe_environment();
  return fmt::format("quern {}, {}, {} cores, {}, {}, load {:.1f}\n", here.version, here.processor, here.cores,
                     here.simd_level, here.date, here.load_average[0]);
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

void add_repeats_option(CLI::App& command, unsigned& repeats, const char* help) {
  add_number_option(command, "--repeats", repeats, "N", help, 1u, 1000u);
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
