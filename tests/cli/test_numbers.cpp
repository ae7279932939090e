#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <regex>

#include "quern/core/resources.hpp"
#include "quern/gpu/intersect/intersect_method.hpp"
#include "quern/index/build_index.hpp"
#include "quern/lab/gpu/decode_bench.hpp"
#include "quern/lab/gpu/gpu_bench.hpp"
#include "quern/lab/gpu/shared_stream.hpp"
#include "quern/lab/synth/document_tree.hpp"
#include "quern/lab/synth/synth_index.hpp"
#include "quern/order/in_links.hpp"
#include "quern/order/order.hpp"
#include "quern/order/pagerank.hpp"
#include "quern/plan/throughput_model.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// Invalid numbers on the command line, in configuration files, and in the library's options.
namespace quern {
namespace {

using namespace testing;

/// An option of a command, as shown by help.
struct ShownOption {
  std::string name;         ///< the long name if it has two
  std::string placeholder;  ///< the value's
};

/// The options with a value in a command's help: lines such as "  -j, --threads N  Number of threads".
std::vector<ShownOption> options_with_value(const CommandLine& command) {
  static const std::regex shape("^ +(?:-[a-z], )?(--?[a-z0-9-]+) ([^ ]+)(?:  .*)?$");
  CommandLine words = command;
  words.push_back("--help-all");
  std::vector<ShownOption> options;
  bool among_options = false;
  for (const std::string& line : lines_of(run_quern(words).out)) {
    if (!line.empty() && line.front() != ' ') among_options = line.ends_with(':') && line != "Examples:";
    std::smatch parts;
    if (among_options && std::regex_match(line, parts, shape)) options.push_back({parts[1], parts[2]});
  }
  return options;
}

/// The values tried for each option: sequentially where processes start slowly.
CommandLine wrong_numbers(std::size_t turn) {
  const CommandLine all = {"nan", "-1", "1e400", "18446744073709551616", ""};
  if (sanitized) return {all[turn % all.size()]};
  return all;
}

bool is_one_of(const std::string& text, const CommandLine& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

TEST_CASE("every numeric option refuses values that are not numbers or out of range", "[cli][numbers][help]") {
  const CommandLine numbers = {
      "N",           "N,...", "X",  "X,...", "A",    "C",       "L",           "L,...",           "MS",
      "MS|none,...", "S",     "US", "GB/s",  "SIZE", "SIZE|P%", "SIZE|P%,...", "SIZE|P%|all,...", "9|10"};
  const CommandLine others = {
      "NAME", "NAME,...",      "NAME|FILE", "FILE",  "FILE|INDEX", "links|none|FILE", "FOLDER", "INDEX",   "TEXT",
      "GLOB", "FILE|none,...", "FILE,...",  "DOCNO", "LIST",       "MODEL",           "KEY",    "KEY,...", "FILTER",
      "I/N",  "KEY=VALUE,...", "FROM-TO",   "TAG",   "STATISTICS", "CODE,...",        "RUN"};
  std::size_t tried = 0, options = 0;
  for (const CommandLine& command : all_commands()) {
    for (const ShownOption& option : options_with_value(command)) {
      INFO(command.back() << " " << option.name << " " << option.placeholder);
      // A new placeholder belongs in one of the lists above.
      REQUIRE(is_one_of(option.placeholder, numbers) != is_one_of(option.placeholder, others));
      if (!is_one_of(option.placeholder, numbers)) continue;
      for (const std::string& wrong : wrong_numbers(options++)) {
        INFO("'" << wrong << "'");
        CommandLine words = command;
        words.insert(words.end(), {option.name, wrong});
        const RunOutcome outcome = run_quern(words);
        INFO(outcome.err);
        CHECK(outcome.exit_status == 2);
        CHECK(contains(outcome.err, "quern: error: " + option.name));
        CHECK(outcome.seconds < 60);
        ++tried;
      }
    }
  }
  CHECK(options > 100);
  CHECK(tried == options * wrong_numbers(0).size());
}

TEST_CASE("a configuration file is refused if it is not a file, is too large, or has an invalid number",
          "[cli][numbers][config]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.trecweb", small_trecweb), output = folder.path("index");
  REQUIRE(::mkfifo(folder.path("fifo").c_str(), 0600) == 0);
  std::ofstream(folder.path("large")) << "";
  std::filesystem::resize_file(folder.path("large"), std::uintmax_t{2} << 30);
  struct Case {
    std::string config;
    int exit_status;  ///< wrong contents are wrong usage
  };
  for (const auto& [config, exit_status] :
       {Case{"/dev/zero", 1}, Case{folder.path("fifo"), 1}, Case{folder.path("large"), 1}, Case{folder.path(""), 1},
        Case{folder.path("missing"), 1}, Case{folder.write("negative.conf", "max-errors = -1\n"), 2},
        Case{folder.write("nan.conf", "k1 = nan\n"), 2},
        Case{folder.write("seed.conf", "seed = 18446744073709551616\n"), 2}}) {
    const RunOutcome outcome = run_quern({"index", corpus, "-o", output, "--config", config});
    INFO(outcome.err);
    CHECK(outcome.exit_status == exit_status);
    CHECK(outcome.err.starts_with("quern: error: "));
    CHECK(contains(outcome.err, config));
    CHECK(outcome.seconds < 5);
    CHECK_FALSE(std::filesystem::exists(output));
  }
}

TEST_CASE("the library refuses options that are not numbers or out of range, by name", "[core][numbers]") {
  using Catch::Matchers::StartsWith;
  const double none = std::numeric_limits<double>::quiet_NaN(), most = std::numeric_limits<double>::infinity();
  for (const double wrong : {none, most, -most, -1.0}) {
    INFO(wrong);
    BuildOptions build;
    build.bm25.k1 = wrong;
    CHECK_THROWS_WITH(check_build_options(build), StartsWith("k1 must be from 0 to 1000"));
    build.bm25 = {};
    build.bm25.b = wrong;
    CHECK_THROWS_WITH(check_build_options(build), StartsWith("b must be from 0 to 1"));
    DocumentScoreSettings scores;
    scores.alpha = wrong;
    CHECK_THROWS_WITH(check_score_settings(scores), StartsWith("alpha must be from 0 to 1"));
    DocumentTreeOptions tree;
    tree.documents = 10;
    CHECK_THROWS_WITH(SynthCorpus({tree, wrong}), StartsWith("mean links must be from 0 to 10000"));
    tree.clustering = wrong;
    CHECK_THROWS_WITH(DocumentTree(tree), StartsWith("clustering must be"));
    tree.clustering = 0;
    tree.mean_length = wrong;
    CHECK_THROWS_WITH(DocumentTree(tree), StartsWith("mean length must be"));
    CHECK_THROWS_WITH(compute_pagerank(InLinks{}, {wrong}, default_resources()), StartsWith("damping must be"));
    CHECK_THROWS_WITH(compute_pagerank(InLinks{}, {0.5, wrong}, default_resources()), StartsWith("tolerance must be"));
  }
  BuildOptions build;
  for (const unsigned bits : {1u, 3u, 17u, ~0u}) {
    build.quantize_bits = bits;
    CHECK_THROWS_WITH(check_build_options(build), StartsWith("bits of quantized impacts must be from 4 to 16"));
  }
  for (const double wrong : {none, most, 0.0, -1.0}) {
    SharedStreamOptions stream;
    stream.queries_per_second = wrong;
    CHECK_THROWS_WITH(check_stream_options(stream), StartsWith("queries per second must be"));
  }
  SharedStreamOptions stream;
  stream.seconds = none;
  CHECK_THROWS_WITH(check_stream_options(stream), StartsWith("seconds must be from 0.001 to 10000"));
  for (const std::size_t batch : {std::size_t{0}, std::size_t{65536}, ~std::size_t{0}}) {
    GpuOptions gpu;
    gpu.batch_queries = batch;
    CHECK_THROWS_WITH(check_gpu_options(gpu), StartsWith("queries per batch must be from 1 to 65535"));
    GpuIntersectionOptions intersection;
    intersection.batch_queries = batch;
    CHECK_THROWS_WITH(check_intersection_options(all_gpu_intersection_methods().front(), intersection),
                      StartsWith("queries per batch must be from 1 to 65535"));
    GpuBenchOptions bench;
    bench.batches.push_back(batch);
    CHECK_THROWS_WITH(check_gpu_bench_options(bench), StartsWith("queries per batch must be from 1 to 65535"));
    stream = {};
    stream.max_batch = batch;
    CHECK_THROWS_WITH(check_stream_options(stream), StartsWith("queries per batch must be from 1 to 65535"));
  }
  for (const unsigned partitions : {0u, 31u, 33u, 544u, ~0u}) {
    GpuOptions gpu;
    gpu.strategy_options.partitions = partitions;
    CHECK_THROWS_WITH(check_gpu_options(gpu), StartsWith("partitions must be a multiple of 32 from 32 to 512"));
    std::swap(gpu.strategy_options.partitions, gpu.strategy_options.round);
    CHECK_THROWS_WITH(check_gpu_options(gpu), StartsWith("a round must be a multiple of 32 from 32 to 512"));
  }
  // Refused before looking for a GPU.
  for (const unsigned repeats : {0u, 1001u}) {
    NoProgress progress;
    CHECK_THROWS_WITH(gpu::measure_merge_find({}, {0, repeats}, progress),
                      StartsWith("repeats must be from 1 to 1000"));
    GpuBenchOptions bench;
    bench.repeats = repeats;
    CHECK_THROWS_WITH(check_gpu_bench_options(bench), StartsWith("repeats must be from 1 to 1000"));
  }
  Resources resources;
  for (const unsigned threads : {0u, max_threads + 1, ~0u}) {
    resources.threads = threads;
    CHECK_THROWS_WITH(compute_pagerank(InLinks{}, {}, resources), StartsWith("threads must be from 1 to 1024"));
  }
}

}  // namespace quern
