#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "quern/core/atomic_output.hpp"
#include "quern/core/bytes.hpp"
#include "quern/corpus/byte_source.hpp"
#include "quern/formats/query_file.hpp"
#include "quern/formats/run_file.hpp"
#include "quern/query/query_engine.hpp"

#include "command.hpp"

namespace quern::tools {
namespace {

constexpr std::uint64_t max_query_file_bytes = std::uint64_t{8} << 30;

struct Arguments {
  CommonOptions common;
  std::string index, queries, query, queries_format = "auto", output, output_format, tag = "quern", idf = "lucene",
                                     stats;
  std::string algorithm{all_algorithms().front().name};
  std::size_t k = 10;
  std::optional<double> k1, b;
};

std::vector<Query> read_queries(const Arguments& arguments) {
  if (!arguments.query.empty()) return {{"1", arguments.query}};
  const std::string name = arguments.queries == "-" ? "standard input" : arguments.queries;
  return parse_queries(read_whole(arguments.queries, max_query_file_bytes), arguments.queries_format, name).queries;
}

/// A single query on a terminal is for people, everything else for programs.
const RunFormat& output_format(const Arguments& arguments) {
  if (!arguments.output_format.empty()) return run_format_named(arguments.output_format);
  const bool for_people = !arguments.query.empty() && arguments.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  return for_people ? run_format_named("text") : *all_run_formats().front();
}

/// Where the run goes: stdout, or a file that appears whole.
class RunOutput {
 public:
  RunOutput(const std::string& path, bool force) {
    if (path.empty()) return;
    file_.reset(new AtomicOutput(AtomicOutput::file(path, force)));
    out_.emplace(file_->file());
  }
  void write(std::string_view text) {
    if (out_) {
      out_->write({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    } else {
      print(text);
    }
  }
  void finish() {
    if (!out_) return flush_output();
    out_->flush();
    file_->commit();
  }

 private:
  std::unique_ptr<AtomicOutput> file_;
  std::optional<FileAppender> out_;
};

/// Turns docIDs into what the output form shows.
class ResultText {
 public:
  ResultText(const IndexReader& index, bool with_titles) : index_(index), with_titles_(with_titles) {}

  std::span<const RunResult> results(const std::vector<ScoredDocument>& documents) {
    results_.clear();
    texts_.clear();
    texts_.reserve(documents.size());
    for (const ScoredDocument& document : documents) {
      RunResult result;
      result.docno = index_.docno(document.docid);
      result.score = document.score;
      if (with_titles_) {
        texts_.push_back(index_.text(document.docid));
        result.title = texts_.back().title;
        result.url = texts_.back().url;
      }
      results_.push_back(result);
    }
    return results_;
  }

 private:
  const IndexReader& index_;
  bool with_titles_;
  std::vector<IndexReader::DocumentText> texts_;
  std::vector<RunResult> results_;
};

ScoringOptions scoring_options(const Arguments& arguments, const IndexReader& index) {
  ScoringOptions options;
  options.bm25 = index.manifest().bm25;
  if (arguments.k1) options.bm25.k1 = *arguments.k1;
  if (arguments.b) options.bm25.b = *arguments.b;
  options.idf = arguments.idf == "robertson" ? Idf::robertson : Idf::lucene;
  return options;
}

/// Gathers what the queries took, for --stats.
class RunStatistics {
 public:
  void add(const QueryAnswer& answer) {
    counts_ += answer.statistics;
    times_us_.push_back(answer.time_us);
  }

  void write(const Arguments& arguments, unsigned threads, double seconds) const {
    const LatencySummary times = summarize(times_us_);
    const double queries_per_second = static_cast<double>(times_us_.size()) / std::max(seconds, 1e-9);
    const Json json = {{"queries", times_us_.size()},
                       {"algorithm", arguments.algorithm},
                       {"k", arguments.k},
                       {"threads", threads},
                       {"mean_us", times.mean_us},
                       {"p50_us", times.p50_us},
                       {"p90_us", times.p90_us},
                       {"p95_us", times.p95_us},
                       {"p99_us", times.p99_us},
                       {"p999_us", times.p999_us},
                       {"max_us", times.max_us},
                       {"queries_per_second", queries_per_second},
                       {"postings", counts_.postings},
                       {"postings_scored", counts_.postings_scored},
                       {"blocks", counts_.blocks},
                       {"blocks_decoded", counts_.blocks_decoded},
                       {"blocks_skipped", counts_.blocks - counts_.blocks_decoded}};
    AtomicOutput file = AtomicOutput::file(arguments.stats, true);
    file.file().write_at(0, as_bytes(json.dump(1) + "\n"));
    file.commit();
    say(arguments.common,
        fmt::format(
            "quern: {} queries, {:.0f} a second on {} threads; a query takes {:.1f} us on average, {:.1f} at the "
            "median, {:.1f} at the 99th percentile; {} of {} postings scored, {} of {} blocks decoded",
            times_us_.size(), queries_per_second, threads, times.mean_us, times.p50_us, times.p99_us,
            counts_.postings_scored, counts_.postings, counts_.blocks_decoded, counts_.blocks));
  }

 private:
  QueryStatistics counts_;
  std::vector<double> times_us_;
};

void run(const Arguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexReader index = IndexReader::open(arguments.index);
  const std::vector<Query> queries = read_queries(arguments);
  std::vector<std::string_view> texts;
  for (const Query& query : queries) texts.push_back(query.text);

  const RunFormat& format = output_format(arguments);
  RunOutput out(arguments.output, arguments.common.force);
  ResultText result_text(index, format.shows_titles());
  const QueryEngine engine(index, scoring_options(arguments, index));
  resources.progress->start("query", queries.size(), "queries");
  std::string text;
  format.begin(text);
  RunStatistics statistics;
  const auto begun = std::chrono::steady_clock::now();
  run_batch(engine, texts, algorithm_named(arguments.algorithm), arguments.k, resources.threads,
            [&](std::size_t i, const QueryAnswer& answer) {
              format.append(text, queries[i].id, queries[i].text, result_text.results(answer.documents), arguments.tag);
              out.write(text);
              text.clear();
              statistics.add(answer);
              resources.progress->add(1);
            });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  format.end(text);
  out.write(text);
  out.finish();
  resources.progress->finish();
  if (!arguments.stats.empty()) statistics.write(arguments, resources.threads, seconds);
}

}  // namespace

void add_query_command(CLI::App& program) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = program.add_subcommand("query", "Answer queries: the k best documents of each");
  command->add_option("INDEX", arguments->index, "What quern index or quern build wrote")->type_name("")->required();
  auto* source = command->add_option_group("queries", "Where the queries come from");
  source->add_option("-q,--queries", arguments->queries, "File of queries, plain, gzip or zstd; - is standard input")
      ->type_name("FILE");
  source->add_option("--query", arguments->query, "One query")->type_name("TEXT");
  source->require_option(1);
  std::vector<std::string> forms(query_file_forms().begin(), query_file_forms().end());
  command->add_option("--queries-format", arguments->queries_format, "Form of the file: " + joined(forms))
      ->type_name("NAME")
      ->check(name_validator(forms))
      ->capture_default_str();
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
  command->add_option("--k1", arguments->k1, "BM25's k1 (default: the index's)")
      ->type_name("X")
      ->check(range_validator(0.0, 1000.0));
  command->add_option("--b", arguments->b, "BM25's b (default: the index's)")
      ->type_name("X")
      ->check(range_validator(0.0, 1.0));
  command->add_option("--idf", arguments->idf, "Inverse document frequency: lucene, robertson")
      ->type_name("NAME")
      ->check(name_validator({"lucene", "robertson"}))
      ->capture_default_str();
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
      "  zcat log.gz | quern query my.quern -q - --output-format json");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
