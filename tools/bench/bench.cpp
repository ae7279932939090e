#include "bench/bench.hpp"

#include <fmt/format.h>

#include "quern/formats/index_file.hpp"
#include "quern/index/index_figures.hpp"
#include "quern/lab/environment.hpp"

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

}  // namespace quern::tools
