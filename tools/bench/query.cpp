#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <span>

#include "quern/core/error.hpp"
#include "quern/lab/environment.hpp"
#include "quern/lab/query_bench.hpp"

#include "bench/bench.hpp"
#include "figures.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct BenchQueryArguments {
  CommonOptions common;
  std::vector<std::string> indexes;
  QuerySource queries;
  std::size_t queries_limit = 0;
  std::vector<std::string> algorithms;
  std::vector<std::size_t> ks = {10, 100, 1000};
  std::vector<Scores> scores = {Scores::exact};
  std::vector<Scorer> scorers = {Scorer::bm25};
  std::vector<bool> early_termination = {true};
  std::optional<double> alpha;
  unsigned repeats = 5, warm_up = 1;
  TimesOptions times;
};

/// An index, scored in one way.
struct ScoredIndex {
  ScoredIndex(const IndexReader& reader, const ScoringArguments& arguments, const QuerySource& queries)
      : options(scoring_options(arguments, reader, queries)), engine(reader, options) {}

  bool with_pagerank() const { return options.scorer == Scorer::bm25_pagerank; }
  std::string scores_name() const { return std::string(name_of_value(scores_names, options.scores)); }
  std::string scorer_name() const { return std::string(name_of_value(scorer_names, options.scorer)); }
  std::string text() const {
    if (!with_pagerank()) return scores_name() + " scores";
    return fmt::format("bm25+pagerank with alpha {}, early termination {}", options.alpha,
                       engine.ends_early() ? "on" : "off: " + api::spelled(engine.why_not_early()));
  }
  /// Names the family of indexes, of the same documents in the same order and scored in the same way, that must give
  /// the same results.
  std::string family() const {
    const IndexReader& index = engine.index();
    const IndexManifest& manifest = index.manifest();
    const std::string way =
        scores_name() + " " + scorer_name() + (with_pagerank() ? std::to_string(options.alpha) : "");
    if (manifest.collection_hash.empty() || options.scores != Scores::exact || with_pagerank())
      return way + " " + index.name();
    return fmt::format("{} {} {} {} {} {} {} {}", way, manifest.collection_hash, manifest.order, manifest.order_seed,
                       manifest.docid_base, manifest.postings, manifest.bm25.k1, manifest.bm25.b);
  }

  ScoringOptions options;
  QueryEngine engine;
};

/// The ways of scoring that were asked for.
std::vector<ScoringArguments> ways_of(const BenchQueryArguments& arguments) {
  std::vector<ScoringArguments> ways;
  for (const Scorer scorer : arguments.scorers) {
    ScoringArguments way;
    way.scorer = scorer;
    if (scorer == Scorer::bm25) {
      for (const Scores scores : arguments.scores) {
        way.scores = scores;
        ways.push_back(way);
      }
      continue;
    }
    way.alpha = arguments.alpha;
    for (const bool early : arguments.early_termination) {
      way.no_early_termination = !early;
      ways.push_back(way);
    }
  }
  return ways;
}

/// All indexes with all ways of scoring, open for queries. Set-ups point into it.
struct Subjects {
  explicit Subjects(const BenchQueryArguments& arguments) {
    for (const std::string& path : arguments.indexes) {
      readers.push_back(std::make_unique<IndexReader>(IndexReader::open(path)));
      for (const ScoringArguments& way : ways_of(arguments))
        indexes.push_back(std::make_unique<ScoredIndex>(*readers.back(), way, arguments.queries));
    }
  }

  /// The set-up's index, as it is scored.
  const ScoredIndex& of(const QuerySetUp& set_up) const {
    const auto place = std::find_if(indexes.begin(), indexes.end(),
                                    [&](const auto& index) { return &index->engine == set_up.engine; });
    return **place;
  }

  std::vector<std::unique_ptr<IndexReader>> readers;
  std::vector<std::unique_ptr<ScoredIndex>> indexes;
};

/// The file of times, if one is asked for: its rows don't name an index or a scoring, so there can be only one.
std::unique_ptr<TimesOutput> times_output(const BenchQueryArguments& arguments, const Subjects& subjects) {
  if (arguments.times.path.empty()) return nullptr;
  if (subjects.indexes.size() != 1) throw InvalidArgument("--times needs a single index and a single way of scoring");
  const ScoredIndex& scored = *subjects.indexes.front();
  auto output = std::make_unique<TimesOutput>(arguments.times, scored.engine.index(), scored.text());
  output->times().cpu = describe_environment().processor;
  return output;
}

void add_times(TimesOutput& output, const QueryFigures& figures) {
  QueryTime like;
  like.device = Processor::cpu;
  like.algorithm = figures.set_up.algorithm->name;
  like.k = figures.set_up.k;
  like.batch = 1;
  output.add(like, figures.each_query);
}

/// Table by table: one of each algorithm for an index, its scores and a k.
std::vector<QuerySetUp> set_ups(const BenchQueryArguments& arguments, const Subjects& subjects) {
  std::map<std::string, std::size_t> families;
  std::vector<QuerySetUp> set_ups;
  for (const auto& index : subjects.indexes) {
    const std::size_t family = families.try_emplace(index->family(), families.size()).first->second;
    for (const std::size_t k : arguments.ks)
      for (const std::string& algorithm : arguments.algorithms)
        set_ups.push_back({&index->engine, &algorithm_named(algorithm), k, family});
  }
  return set_ups;
}

double share(std::uint64_t part, std::uint64_t whole) { return static_cast<double>(part) / static_cast<double>(whole); }

Json batches_json(const QueryFigures& figures) {
  Json batches = Json::array();
  for (const BatchFigures& batch : figures.batches)
    batches.push_back({{"threads", batch.threads},
                       {"queries_per_second", static_cast<double>(figures.queries) / batch.seconds},
                       {"speedup", figures.batches.front().seconds / batch.seconds}});
  return batches;
}

/// `yardstick` is the set-up of the same index, scores and k that the others are compared with.
Json figures_json(const QueryFigures& figures, const QueryFigures& yardstick, const ScoredIndex& scored) {
  Json json = {{"index", figures.set_up.engine->index().name()},
               {"algorithm", figures.set_up.algorithm->name},
               {"k", figures.set_up.k},
               {"scores", scored.scores_name()},
               {"scorer", scored.scorer_name()},
               {"queries", figures.queries}};
  if (scored.with_pagerank()) {
    json["alpha"] = scored.options.alpha;
    json["early_termination"] = scored.engine.ends_early();
    json["shortest_list_read_share"] = scored.engine.ends_early() ? figures.counts.depths.front().mean_share() : 1.0;
  }
  json.update(times_json(figures.times));
  json["queries_per_second"] = figures.queries_per_second();
  json["effective_postings_per_second"] = figures.postings_per_second();
  json["postings_scored_share"] = share(figures.counts.postings_scored, figures.postings);
  json["blocks_decoded_share"] = share(figures.counts.blocks_decoded, figures.blocks);
  json["compared_with"] = yardstick.set_up.algorithm->name;
  json["speedup"] = yardstick.times.mean_us / figures.times.mean_us;
  for (const QueryLengthFigures& length : figures.by_length) {
    Json row = {{"terms", length.terms}, {"queries", length.queries}};
    row.update(times_json(length.times));
    json["by_length"].push_back(row);
  }
  json["batches"] = batches_json(figures);
  return json;
}

void print_head(const QueryFigures& figures, const ScoredIndex& scored) {
  const IndexReader& index = figures.set_up.engine->index();
  print(fmt::format("\n{}: {} order, {}, blocks of {}; {}, k = {}; {} queries of {:.0f} postings\n", index.name(),
                    index.manifest().order, index.codec().name(), index.block_size(), scored.text(), figures.set_up.k,
                    figures.queries, share(figures.postings, figures.queries)));
  print(fmt::format("{:<10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>11}{:>9}{:>9}{:>9}{:>9}", "algorithm", "mean us", "p50",
                    "p90", "p95", "p99", "p99.9", "queries/s", "G/s", "scored", "decoded", "speedup"));
  for (const BatchFigures& batch : figures.batches)
    print(fmt::format("{:>12}", fmt::format("{} thread{}", batch.threads, batch.threads == 1 ? "" : "s")));
  print("\n");
}

void print_row(const QueryFigures& figures, const QueryFigures& yardstick) {
  const LatencySummary& times = figures.times;
  print(
      fmt::format("{:<10}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>11.0f}{:>9.3f}{:>7.1f} %{:>7.1f} %{:>9.2f}",
                  figures.set_up.algorithm->name, times.mean_us, times.p50_us, times.p90_us, times.p95_us, times.p99_us,
                  times.p999_us, figures.queries_per_second(), billions(figures.postings_per_second()),
                  100 * share(figures.counts.postings_scored, figures.postings),
                  100 * share(figures.counts.blocks_decoded, figures.blocks), yardstick.times.mean_us / times.mean_us));
  for (const BatchFigures& batch : figures.batches)
    print(fmt::format("{:>8.0f} q/s", static_cast<double>(figures.queries) / batch.seconds));
  print("\n");
}

std::string length_label(std::size_t terms) {
  if (terms == first_shared_length) return fmt::format("{}-{}", terms, first_long_length - 1);
  return terms == first_long_length ? fmt::format("{}+", terms) : std::to_string(terms);
}

/// Mean times by the number of terms found.
void print_lengths(std::span<const QueryFigures> table) {
  print(fmt::format("{:<10}", "terms"));
  for (const QueryLengthFigures& length : table.front().by_length)
    print(fmt::format("{:>9}", length_label(length.terms)));
  print(fmt::format("\n{:<10}", "queries"));
  for (const QueryLengthFigures& length : table.front().by_length) print(fmt::format("{:>9}", length.queries));
  for (const QueryFigures& figures : table) {
    print(fmt::format("\n{:<10}", figures.set_up.algorithm->name));
    for (const QueryLengthFigures& length : figures.by_length) print(fmt::format("{:>9.1f}", length.times.mean_us));
  }
  print(" mean us\n");
}

void print_table(std::span<const QueryFigures> table, const QueryFigures& yardstick, const ScoredIndex& scored) {
  print_head(yardstick, scored);
  for (const QueryFigures& figures : table) print_row(figures, yardstick);
  print_lengths(table);
}

/// The exhaustive `or` among the set-ups of one table, else the first of them.
const QueryFigures& yardstick_of(std::span<const QueryFigures> table) {
  for (const QueryFigures& figures : table)
    if (figures.set_up.algorithm->name == "or") return figures;
  return table.front();
}

void run(BenchQueryArguments arguments) {
  const Resources resources = make_resources(arguments.common);
  if (arguments.algorithms.empty()) arguments.algorithms = names_of(all_algorithms());
  Json json = {{"bench", "query"}, {"environment", environment_json()}};  // its load is that before the work
  if (!arguments.common.json) print(environment_line());
  std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  if (arguments.queries_limit != 0 && queries.size() > arguments.queries_limit) queries.resize(arguments.queries_limit);
  const std::vector<std::string_view> texts = texts_of(queries);
  const Subjects subjects(arguments);
  const std::unique_ptr<TimesOutput> times = times_output(arguments, subjects);

  const std::vector<QueryFigures> measured = measure_queries(
      texts, set_ups(arguments, subjects),
      {arguments.repeats, arguments.warm_up, resources.threads, times != nullptr, query_kind(arguments.queries.format)},
      *resources.progress);
  for (const auto& reader : subjects.readers) json["indexes"].push_back(index_json(*reader));
  json["queries"] = {{"file", arguments.queries.file}, {"count", queries.size()}};
  json["repeats"] = arguments.repeats;
  json["time_of_a_query"] = "median of its repeats, one thread";
  for (std::size_t at = 0; at < measured.size(); at += arguments.algorithms.size()) {
    const std::span table = std::span(measured).subspan(at, arguments.algorithms.size());
    const QueryFigures& yardstick = yardstick_of(table);
    const ScoredIndex& scored = subjects.of(yardstick.set_up);
    for (const QueryFigures& figures : table) json["results"].push_back(figures_json(figures, yardstick, scored));
    if (!arguments.common.json) print_table(table, yardstick, scored);
  }
  if (times) {
    for (const QueryFigures& figures : measured) add_times(*times, figures);
    times->finish();
  }
  if (arguments.common.json) print(json.dump(1) + "\n");
}

}  // namespace

void add_query_bench(CLI::App& bench) {
  auto arguments = std::make_shared<BenchQueryArguments>();
  CLI::App* command = bench.add_subcommand("query", "Measure query speed by algorithm, k and index");
  command->add_option("INDEX", arguments->indexes, "Indexes to measure in one run")->type_name("")->required();
  add_query_source_options(*command, arguments->queries, QueryKinds::text_and_vectors);
  command->add_option("--queries-limit", arguments->queries_limit, "Use only the first N queries")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, std::size_t{1} << 40));
  add_name_option(*command, "-a,--algorithm", arguments->algorithms, all_algorithms(), "Algorithms (default: all)")
      ->delimiter(',');
  command->add_option("-k", arguments->ks, "Results per query (default: 10,100,1000)")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, std::size_t{end_docid}))
      ->delimiter(',');
  add_value_option(*command, "--scores", arguments->scores, scores_names, "Precision of scores (default: exact)");
  add_value_option(*command, "--scorer", arguments->scorers, scorer_names, "Scoring functions (default: bm25)");
  add_alpha_option(*command, arguments->alpha);
  add_value_option(*command, "--early-termination", arguments->early_termination, switches,
                   "Early termination with bm25+pagerank (default: on)");
  add_repeats_option(*command, arguments->repeats, "Repetitions of each query; the median time counts");
  command->add_option("--warm-up", arguments->warm_up, "Passes over all queries before measuring")
      ->type_name("N")
      ->check(range_validator(0u, 1000u))
      ->capture_default_str();
  add_times_options(*command, arguments->times);
  command->add_flag("--json", arguments->common.json, "Print figures as JSON");
  add_common_options(*command, arguments->common);
  set_notes(*command,
            {"All answers are compared before anything is measured; a wrong one stops the run. Times are those of one "
             "thread; with -j above 1, batches are measured too, on one thread and on all. Shares exceed 100 % if an "
             "algorithm reads lists twice, as and-or does."},
            {{"quern bench query my.quern -q log.txt -k 10"},
             {"quern bench query newpfd.quern rice.quern -q topics.txt -a or,maxscore -k 10,1000 --json > query.json"},
             {"quern bench query quantized.quern -q log.txt --scores exact,quantized"},
             {"quern bench query my.quern -q log.txt -k 10 --times cpu.tsv"},
             {"quern bench query scored.quern -q log.txt --scorer bm25+pagerank --early-termination on,off -a and"},
             {"scripts/plot query.json -o plots"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
