#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "quern/core/atomic_output.hpp"
#include "quern/core/bytes.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/formats/run_file.hpp"
#include "quern/gpu/device_info.hpp"
#include "quern/gpu/gpu_engine.hpp"
#include "quern/query/query_engine.hpp"

#include "command.hpp"
#include "query_figures.hpp"
#include "query_source.hpp"
#include "scoring_options.hpp"

namespace quern::tools {
namespace {

constexpr const char* cpu_device = "cpu";
constexpr const char* gpu_device = "gpu";
constexpr const char* auto_device = "auto";
/// Queries whose results a GPU's host holds at a time.
constexpr std::size_t gpu_queries_at_once = std::size_t{1} << 16;

struct Arguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::string index, plan, output, output_format, tag = "quern", stats;
  std::string device = cpu_device;
  GpuOptions gpu;
  std::string algorithm{all_algorithms().front().name};
  std::size_t k = 10;
};

/// A single query on a terminal is for people, everything else for programs.
const RunFormat& output_format(const Arguments& arguments) {
  if (!arguments.output_format.empty()) return run_format_named(arguments.output_format);
  const bool for_people = !arguments.queries.text.empty() && arguments.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  return for_people ? run_format_named("text") : *all_run_formats().front();
}

/// Turns docIDs into what the output form shows. Serves all threads.
class ResultText {
 public:
  ResultText(const IndexReader& index, const RunFormat& format, const std::string& tag)
      : index_(index), format_(format), tag_(tag) {}

  std::string of(const Query& query, const std::vector<ScoredDocument>& documents) const {
    std::vector<IndexReader::DocumentText> texts;
    texts.reserve(documents.size());
    std::vector<RunResult> results;
    results.reserve(documents.size());
    for (const ScoredDocument& document : documents) {
      RunResult& result = results.emplace_back();
      result.docno = index_.docno(document.docid);
      result.score = document.score;
      if (!format_.shows_titles()) continue;
      texts.push_back(index_.text(document.docid));
      result.title = texts.back().title;
      result.url = texts.back().url;
    }
    std::string text;
    format_.append(text, query.id, query.text, results, tag_);
    return text;
  }

 private:
  const IndexReader& index_;
  const RunFormat& format_;
  const std::string& tag_;
};

/// Gathers what the queries took, for --stats.
class RunStatistics {
 public:
  void add(const QueryAnswer& answer) {
    counts_ += answer.statistics;
    times_us_.push_back(answer.time_us);
  }

  void add(const GpuStatistics& gpu) {
    gpu_.queries += gpu.queries;
    gpu_.batches += gpu.batches;
    gpu_.on_cpu += gpu.on_cpu;
    gpu_.run_again += gpu.run_again;
    gpu_.prepare_us += gpu.prepare_us;
    gpu_.device += gpu.device;
  }

  void write(const Arguments& arguments, const QueryEngine& engine, unsigned threads, double seconds) const {
    const LatencySummary times = summarize(times_us_);
    const double queries_per_second = static_cast<double>(times_us_.size()) / std::max(seconds, 1e-9);
    Json json = {{"queries", times_us_.size()},        {"algorithm", arguments.algorithm},   {"k", arguments.k},
                 {"scores", arguments.scoring.scores}, {"scorer", arguments.scoring.scorer}, {"threads", threads}};
    json.update(times_json(times));
    json.update({{"queries_per_second", queries_per_second},
                 {"postings", counts_.postings},
                 {"postings_scored", counts_.postings_scored},
                 {"blocks", counts_.blocks},
                 {"blocks_decoded", counts_.blocks_decoded},
                 {"blocks_skipped", counts_.blocks - std::min(counts_.blocks, counts_.blocks_decoded)},
                 {"early_termination", engine.ends_early()}});
    json["device"] = gpu_.queries > 0 ? gpu_device : cpu_device;
    if (gpu_.queries > 0)
      json["gpu"] = {{"batches", gpu_.batches},
                     {"on_cpu", gpu_.on_cpu},
                     {"run_again", gpu_.run_again},
                     {"prepare_us", gpu_.prepare_us},
                     {"upload_us", gpu_.device.upload_us},
                     {"decode_us", gpu_.device.decode_us},
                     {"unite_us", gpu_.device.unite_us},
                     {"finish_us", gpu_.device.finish_us},
                     {"download_us", gpu_.device.download_us}};
    if (engine.ends_early()) json.update({{"stopped_early", counts_.stopped_early}, {"depths", depths_json(counts_)}});
    AtomicOutput file = AtomicOutput::file(arguments.stats, true);
    file.file().write_at(0, as_bytes(json.dump(1) + "\n"));
    file.commit();
    say(arguments.common,
        fmt::format(
            "quern: {} queries, {:.0f} a second on {} threads; a query takes {:.1f} us on average, {:.1f} at the "
            "median, {:.1f} at the 99th percentile; {} of {} postings scored, {} of {} blocks decoded",
            times_us_.size(), queries_per_second, threads, times.mean_us, times.p50_us, times.p99_us,
            counts_.postings_scored, counts_.postings, counts_.blocks_decoded, counts_.blocks));
    if (engine.ends_early())
      say(arguments.common, fmt::format("quern: {} queries ended early; of their shortest lists they read {:.1f} %",
                                        counts_.stopped_early, 100 * counts_.depths.front().mean_share()));
  }

 private:
  QueryStatistics counts_;
  std::vector<double> times_us_;
  GpuStatistics gpu_;
};

/// A plan is checked even though nothing here needs it: it may be meant for another index.
void check_plan(const Arguments& arguments, const IndexReader& index) {
  if (arguments.plan.empty()) return;
  PlanReader::open(arguments.plan).load_for(index);
  say(arguments.common, fmt::format("quern: {}: the plan is of this index, but not needed: queries find all of it in "
                                    "memory, on CPU and GPU",
                                    arguments.plan));
}

/// The GPU's engine, if queries are to run there. With "auto" what stands in the way is said, and nothing comes back.
std::unique_ptr<GpuEngine> gpu_engine(const Arguments& arguments, const QueryEngine& engine,
                                      const Resources& resources) {
  if (arguments.device == cpu_device) return nullptr;
  try {
    if (list_gpus().empty() && built_with_cuda())
      throw CudaError("this machine has no GPU that CUDA can use; ask for --device cpu");
    return std::make_unique<GpuEngine>(engine, arguments.gpu, *resources.progress);
  } catch (const Error& error) {
    if (arguments.device == gpu_device) throw;
    say(arguments.common, fmt::format("quern: queries run on the CPU: {}", error.what()));
    return nullptr;
  }
}

/// As run_batch(), on a GPU. A query's time is its share of the time of all that are answered together. Returns how
/// many queries are answered: less than all where the GPU fails and the CPU may go on.
std::size_t run_on_gpu(GpuEngine& gpu, std::span<const std::string_view> texts, const Arguments& arguments,
                       unsigned threads, const BatchSteps& steps, RunStatistics& statistics) {
  for (std::size_t from = 0; from < texts.size(); from += gpu_queries_at_once) {
    const std::size_t some = std::min(gpu_queries_at_once, texts.size() - from);
    const auto begun = std::chrono::steady_clock::now();
    std::vector<std::vector<ScoredDocument>> results;
    GpuStatistics counted;
    try {
      results = gpu.search(texts.subspan(from, some), algorithm_named(arguments.algorithm), arguments.k, &counted);
    } catch (const CudaError& error) {
      if (arguments.device == gpu_device) throw;
      say(arguments.common, fmt::format("quern: the CPU goes on: {}", error.what()));
      return from;
    }
    statistics.add(counted);
    const double time_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
    const auto answer = [&](std::size_t i, QueryAnswer& out) {
      out.documents = std::move(results[i]);
      out.time_us = time_us / static_cast<double>(some);
      steps.render(from + i, out);
    };
    answer_in_batches<QueryAnswer>(some, threads, answer,
                                   [&](std::size_t i, const QueryAnswer& out) { steps.take(from + i, out); });
  }
  return texts.size();
}

void run(const Arguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  check_plan(arguments, index);
  const std::vector<Query> queries = read_queries(arguments.queries);
  std::vector<std::string_view> texts;
  for (const Query& query : queries) texts.push_back(query.text);

  const RunFormat& format = output_format(arguments);
  TextOutput out(arguments.output, arguments.common.force);
  const ResultText result_text(index, format, arguments.tag);
  const QueryEngine engine(index, scoring_options(arguments.scoring, index));
  if (arguments.scoring.scorer == pagerank_scorer && !engine.ends_early())
    say(arguments.common, "quern: no early termination: " + engine.why_not_early());
  const std::unique_ptr<GpuEngine> gpu = gpu_engine(arguments, engine, resources);
  resources.progress->start("query", queries.size(), "queries");
  std::string text;
  format.begin(text);
  out.write(text);
  text.clear();
  RunStatistics statistics;
  const auto begun = std::chrono::steady_clock::now();
  BatchSteps steps;
  steps.render = [&](std::size_t i, QueryAnswer& answer) {
    answer.text = result_text.of(queries[i], answer.documents);
  };
  steps.take = [&](std::size_t, const QueryAnswer& answer) {
    out.write(answer.text);
    statistics.add(answer);
    resources.progress->add(1);
  };
  std::size_t done = 0;
  if (gpu) done = run_on_gpu(*gpu, texts, arguments, resources.threads, steps, statistics);
  if (done < texts.size()) {
    BatchSteps later;
    later.render = [&](std::size_t i, QueryAnswer& answer) { steps.render(done + i, answer); };
    later.take = [&](std::size_t i, const QueryAnswer& answer) { steps.take(done + i, answer); };
    run_batch(engine, std::span<const std::string_view>(texts).subspan(done), algorithm_named(arguments.algorithm),
              arguments.k, resources.threads, later);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  format.end(text);
  out.write(text);
  out.finish();
  resources.progress->finish();
  if (!arguments.stats.empty()) statistics.write(arguments, engine, resources.threads, seconds);
}

}  // namespace

void add_query_command(CLI::App& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand("query", "Answer queries: the k best documents of each");
  command->add_option("INDEX", arguments->index, "What quern index or quern build wrote")->type_name("")->required();
  add_query_source_options(*command, arguments->queries);
  std::vector<std::string> algorithms;
  std::string algorithm_help = "How they are answered:";
  for (const QueryAlgorithm& algorithm : all_algorithms()) {
    algorithms.emplace_back(algorithm.name);
    algorithm_help += fmt::format("\n  {}: {}", algorithm.name, algorithm.description);
  }
  command->add_option("-a,--algorithm", arguments->algorithm, algorithm_help)
      ->type_name("NAME")
      ->check(name_validator(algorithms))
      ->capture_default_str();
  command->add_option("-k", arguments->k, "Results a query")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, std::size_t{end_docid}))
      ->capture_default_str();
  add_scoring_options(*command, arguments->scoring);
  command
      ->add_option("--device", arguments->device,
                   "Where queries run: cpu, gpu, or auto (a GPU where one can answer, else the CPU)")
      ->type_name("NAME")
      ->check(name_validator({cpu_device, gpu_device, auto_device}))
      ->capture_default_str();
  command->add_option("--gpu", arguments->gpu.gpu, "Number of the GPU, as quern --version lists them")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--batch", arguments->gpu.batch_queries, "Queries that a GPU answers together, at most")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, std::size_t{65535}))
      ->capture_default_str();
  command->add_option("--plan", arguments->plan, "What quern plan wrote for this index: what a GPU keeps in memory")
      ->type_name("FILE");
  command
      ->add_option("--output-format", arguments->output_format,
                   "Form of the results: " + joined(names_of(all_run_formats())) +
                       " (default: trec; text for --query on a terminal)")
      ->type_name("NAME")
      ->check(name_validator(names_of(all_run_formats())));
  command->add_option("--tag", arguments->tag, "Name of the run, in trec output")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("-o,--output", arguments->output, "Write to a file, not to standard output")->type_name("FILE");
  command->add_flag("--force", arguments->common.force, "Overwrite existing output");
  command->add_option("--stats", arguments->stats, "Write times and counts to a file, as JSON")->type_name("FILE");
  add_common_options(*command, arguments->common);
  command->footer(
      "\nExamples:\n  quern query my.quern --query \"water mill\"\n"
      "  quern query my.quern -q topics.txt -a and -k 1000 -o my.run\n"
      "  quern query scored.quern -q topics.txt -a and --scorer bm25+pagerank   (quern index --order score)\n"
      "  quern query my.quern -q log.txt.zst --device auto -o my.run\n"
      "  zcat log.gz | quern query my.quern -q - --output-format json");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
