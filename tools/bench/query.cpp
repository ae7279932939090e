#include <fmt/format.h>

#include <deque>
#include <map>

#include "quern/lab/order_bench.hpp"
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
  std::vector<std::string> algorithms = names_of(all_algorithms());
  std::vector<std::size_t> ks = {10, 100, 1000};
  std::vector<Scores> scores = {Scores::exact};
  std::vector<Scorer> scorers = {Scorer::bm25};
  std::vector<bool> early_termination = {true};
  Idf idf = Idf::lucene;
  std::optional<double> alpha;
  unsigned repeats = 5, warm_up = 1;
  bool visits = false;
  TimesOptions times;
};

/// An index, scored in one way.
struct ScoredIndex {
  ScoredIndex(const IndexShards& shards, const ScoringArguments& arguments, const QuerySource& queries)
      : index(shards), engines(shards, arguments, queries), engine(engines.first()) {}

  bool with_pagerank() const { return engine.options().scorer == Scorer::bm25_pagerank; }
  std::string scores_name() const { return std::string(name_of_value(scores_names, engine.options().scores)); }
  std::string idf_name() const { return std::string(name_of_value(idf_names, engine.options().idf)); }
  std::string scorer_name() const { return std::string(name_of_value(scorer_names, engine.options().scorer)); }
  /// Indexes of one family must give equal results: they have equal documents, orders and scores.
  std::string family() const {
    const IndexManifest& manifest = index[0].manifest();
    const ScoringOptions& options = engine.options();
    const std::string way =
        scores_name() + " " + scorer_name() + (with_pagerank() ? std::to_string(options.alpha) : "");
    if (manifest.collection_hash.empty() || options.scores != Scores::exact || with_pagerank())
      return way + " " + index.name();
    return fmt::format("{} {} {} {} {} {} {} {}", way, index.collection_hash(), manifest.order, manifest.order_seed,
                       manifest.docid_base, index.num_postings(), manifest.bm25.k1, manifest.bm25.b);
  }

  const IndexShards& index;
  ShardEngines engines;
  const QueryEngine& engine;  ///< the first shard's
};

/// All combinations of the scoring options.
std::vector<ScoringArguments> ways_of(const BenchQueryArguments& arguments) {
  std::vector<ScoringArguments> ways;
  for (const Scorer scorer : arguments.scorers) {
    ScoringArguments way;
    way.idf = arguments.idf;
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

/// Whether an index is a further shard of the one that these shards are of.
bool continues(const std::vector<IndexReader>& shards, const IndexReader& index) {
  const auto& further = index.manifest().shard;
  return further && std::ranges::all_of(shards, [&](const IndexReader& each) {
           const auto& shard = each.manifest().shard;
           return shard && shard->order_hash == further->order_hash &&
                  shard->statistics_hash == further->statistics_hash && shard->number != further->number;
         });
}

/// The indexes of these paths: neighbours that are shards of the same index are one.
std::deque<IndexShards> open_indexes(const std::vector<std::string>& paths) {
  std::vector<std::vector<IndexReader>> all;
  for (const std::string& path : paths) {
    IndexReader index = IndexReader::open(path);
    if (all.empty() || !continues(all.back(), index)) all.emplace_back();
    all.back().push_back(std::move(index));
  }
  std::deque<IndexShards> indexes;
  for (std::vector<IndexReader>& shards : all) indexes.emplace_back(std::move(shards));
  return indexes;
}

/// All indexes with all ways of scoring, open for queries. Set-ups point into it.
struct Subjects {
  explicit Subjects(const BenchQueryArguments& arguments) : indexes(open_indexes(arguments.indexes)) {
    for (const IndexShards& index : indexes)
      for (const ScoringArguments& way : ways_of(arguments)) scored.emplace_back(index, way, arguments.queries);
  }

  std::deque<IndexShards> indexes;
  std::deque<ScoredIndex> scored;
};

/// The output of --times, or null. Its rows don't name an index or a scoring, so only one of each is allowed.
std::unique_ptr<TimesOutput> times_output(const BenchQueryArguments& arguments, const Subjects& subjects) {
  if (arguments.times.path.empty()) return nullptr;
  if (subjects.scored.size() != 1) throw InvalidArgument("--times needs a single index and a single way of scoring");
  const ScoredIndex& scored = subjects.scored.front();
  auto output = std::make_unique<TimesOutput>(arguments.times, scored.engine);
  output->times().cpu = processor_name();
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

/// Grouped by table: all algorithms for an index, its scoring and a k.
std::vector<QuerySetUp> set_ups(const BenchQueryArguments& arguments, Subjects& subjects) {
  std::map<std::string, std::size_t> families;
  std::vector<QuerySetUp> set_ups;
  for (ScoredIndex& scored : subjects.scored) {
    const std::size_t family = families.try_emplace(scored.family(), families.size()).first->second;
    for (const std::size_t k : arguments.ks)
      for (const std::string& algorithm : arguments.algorithms)
        set_ups.push_back({&scored.index, &scored.engines.backend(), &algorithm_named(algorithm), k, family});
  }
  return set_ups;
}

/// `baseline`: the set-up of this index, scores and k with which the others are compared.
Row row_of(const QueryFigures& figures, const QueryFigures& baseline, const ScoredIndex& scored) {
  const LatencySummary& times = figures.times;
  const double speedup = baseline.times.mean_us / times.mean_us;
  Json batches = Json::array(), by_length = Json::array();
  Row row = {{"index", scored.index.name()},   {"algorithm", figures.set_up.algorithm->name, "algorithm"},
             {"k", figures.set_up.k},          {"scores", scored.scores_name()},
             {"scorer", scored.scorer_name()}, {"idf", scored.idf_name()},
             {"queries", figures.queries}};
  append(row, time_figures(times, {"mean us", "p50", "p90", "p95", "p99", "p99.9"}));
  append(row,
         {{"queries_per_second", figures.queries_per_second(), "queries/s", "{:.0f}"},
          {"effective_postings_per_second", figures.postings_per_second(), "G/s", "{:.3f}", 1e-9},
          {"postings_scored_share", ratio(figures.counts.postings_scored, figures.postings), "scored", "{:.1f} %", 100},
          {"blocks_decoded_share", ratio(figures.counts.blocks_decoded, figures.blocks), "decoded", "{:.1f} %", 100},
          {"compared_with", baseline.set_up.algorithm->name},
          {"speedup", speedup, "speedup", "{:.2f}"}});
  for (const BatchFigures& batch : figures.batches) {
    const double queries_per_second = static_cast<double>(figures.queries) / batch.seconds;
    batches.push_back({{"threads", batch.threads},
                       {"queries_per_second", queries_per_second},
                       {"speedup", figures.batches.front().seconds / batch.seconds}});
    row.push_back({"", queries_per_second, count_text(batch.threads, "thread"), "{:.0f} q/s"});
  }
  for (const QueryLengthFigures& length : figures.by_length) {
    by_length.push_back({{"terms", length.terms}, {"queries", length.queries}});
    by_length.back().update(times_json(length.times));
  }
  row.push_back({"by_length", std::move(by_length)});
  row.push_back({"batches", std::move(batches)});
  if (!scored.with_pagerank()) return row;
  const bool early = scored.engine.ends_early();
  row.push_back({"alpha", scored.engine.options().alpha});
  row.push_back({"early_termination", early});
  row.push_back({"shortest_list_read_share", early ? figures.counts.depths.front().mean_share() : 1.0});
  return row;
}

std::string length_label(std::size_t terms) {
  if (terms == first_shared_length) return fmt::format("{}-{}", terms, first_long_length - 1);
  return terms == first_long_length ? fmt::format("{}+", terms) : std::to_string(terms);
}

/// Mean times by the number of terms found, below the number of these queries.
void print_lengths(std::span<const QueryFigures> table, BenchReport& report) {
  Row queries = {{"", "queries", "us by terms"}};
  for (const QueryLengthFigures& length : table.front().by_length)
    queries.push_back({"", length.queries, length_label(length.terms)});
  report.add("", std::move(queries));
  for (const QueryFigures& figures : table) {
    Row row = {{"", figures.set_up.algorithm->name, "us by terms"}};
    for (const QueryLengthFigures& length : figures.by_length)
      row.push_back({"", length.times.mean_us, length_label(length.terms), "{:.1f}"});
    report.add("", std::move(row));
  }
  report.print_table();
}

void report_table(std::span<const QueryFigures> table, const QueryFigures& baseline, const ScoredIndex& scored,
                  BenchReport& report) {
  const IndexReader& index = scored.index[0];
  report.say("\n{}: {} order, {}, blocks of {}; {}, k = {}; {} queries of {:.0f} postings\n", scored.index.name(),
             index.manifest().order, index.codec().name, index.block_size(), scoring_text(scored.engine),
             baseline.set_up.k, baseline.queries, ratio(baseline.postings, baseline.queries));
  for (const QueryFigures& figures : table) report.add("results", row_of(figures, baseline, scored));
  report.print_table();
  print_lengths(table, report);
}

/// The exhaustive `or` among the set-ups of one table, else the first of them.
const QueryFigures& baseline_of(std::span<const QueryFigures> table) {
  for (const QueryFigures& figures : table)
    if (figures.set_up.algorithm->name == "or") return figures;
  return table.front();
}

/// Percentages read: of the shortest list (mean over queries, and of all postings), of all lists, and of blocks.
Row visits_row(const QueryEngine& engine, const TerminationFigures& figures) {
  const IndexReader& index = engine.index();
  const DocumentScoreSettings& scores = *index.manifest().scores;
  const QueryStatistics& counts = figures.counts;
  const ListDepth& shortest = counts.depths.front();
  ListDepth all;
  for (const ListDepth& depth : counts.depths) all += depth;
  return {{"index", index.name(), "index"},
          {"pagerank_scale", name_of_value(pagerank_scales, scores.pagerank_scale), "scale"},
          {"alpha", scores.alpha, "alpha"},
          {"k", figures.k, "k"},
          {"idf", name_of_value(idf_names, engine.options().idf)},
          {"queries", figures.queries, "queries"},
          {"stopped_early", counts.stopped_early},
          {"", ratio(counts.stopped_early, figures.queries), "stopped", "{:.1f} %", 100},
          {"blocks", counts.blocks},
          {"blocks_decoded", counts.blocks_decoded},
          {"", shortest.mean_share(), "l(0) read", "{:.1f} %", 100},
          {"", ratio(shortest.read, shortest.postings), "of postings", "{:.1f} %", 100},
          {"", ratio(all.read, all.postings), "all lists", "{:.1f} %", 100},
          {"", ratio(counts.blocks_decoded, counts.blocks), "decoded", "{:.1f} %", 100},
          {"depths", depths_json(counts)},
          {"curve",
           {{"term", figures.curve.term},
            {"df", figures.curve.df},
            {"queries", figures.curve.queries},
            {"visits", figures.curve.visits}}}};
}

/// Counts how much of their lists `and` queries read before ending early; measures no times.
void count_visits(const BenchQueryArguments& arguments, const Resources& resources,
                  std::span<const std::string_view> texts, BenchReport& report) {
  if (arguments.queries.layout.format == QueryFormat::vector)
    throw usage_error("--visits takes no queries of format vector");
  ScoringArguments scoring;
  scoring.idf = arguments.idf;
  scoring.scorer = Scorer::bm25_pagerank;
  scoring.alpha = arguments.alpha;
  for (const std::string& path : arguments.indexes) {
    const IndexReader index = IndexReader::open(path);
    const QueryEngine engine(index, scoring_options(scoring, index));
    if (!engine.ends_early()) throw InvalidArgument("{}: early termination is off: {}", path, engine.why_not_early());
    report.json["indexes"].push_back(index_json(index));
    for (const std::size_t k : arguments.ks) {
      report.add("visits", visits_row(engine, measure_termination(engine, texts, k, resources)));
      report.print_table();
    }
  }
}

void measure_times(const BenchQueryArguments& arguments, const Resources& resources,
                   std::span<const std::string_view> texts, BenchReport& report) {
  Subjects subjects(arguments);
  const std::unique_ptr<TimesOutput> times = times_output(arguments, subjects);
  const std::vector<QueryFigures> measured =
      measure_queries(texts, set_ups(arguments, subjects),
                      {arguments.repeats, arguments.warm_up, resources.threads, times != nullptr,
                       query_kind(arguments.queries.layout.format)},
                      *resources.progress);
  for (const IndexShards& index : subjects.indexes) report.json["indexes"].push_back(index_json(index));
  report.json["repeats"] = arguments.repeats;
  report.json["time_of_a_query"] = "median of its repeats, one thread";
  const std::size_t algorithms = arguments.algorithms.size();
  for (std::size_t i = 0; i < measured.size() / algorithms; ++i) {
    const std::span table = std::span(measured).subspan(i * algorithms, algorithms);
    report_table(table, baseline_of(table), subjects.scored[i / arguments.ks.size()], report);
  }
  if (!times) return;
  for (const QueryFigures& figures : measured) add_times(*times, figures);
  times->finish();
}

void run(const BenchQueryArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  BenchReport report(arguments.visits ? "visits" : "query", arguments.common);
  std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  if (arguments.queries_limit != 0 && queries.size() > arguments.queries_limit) queries.resize(arguments.queries_limit);
  report.json["queries"] = {{"file", arguments.queries.file}, {"count", queries.size()}};
  (arguments.visits ? count_visits : measure_times)(arguments, resources, texts_of(queries), report);
  report.finish();
}

}  // namespace

void add_query_bench(CLI::App& bench) {
  auto [command, arguments] =
      add_bench<BenchQueryArguments>(bench, "query", "Measure query speed by algorithm, k and index", run);
  add_input_option(command, "INDEX", arguments.indexes, "",
                   "Indexes to measure in one run; for one in shards, name all of them one after the other")
      ->required();
  add_query_source_options(command, arguments.queries, QueryKinds::text_and_vectors);
  add_number_option(command, "--queries-limit", arguments.queries_limit, "N", "Use only the first N queries", 1,
                    std::size_t{1} << 40);
  add_name_option(command, "-a,--algorithm", arguments.algorithms, all_algorithms(), "Algorithms (default: all)");
  add_number_option(command, "-k", arguments.ks, "N", "Results per query", 1, end_docid);
  add_idf_option(command, arguments.idf);
  add_value_option(command, "--scores", arguments.scores, scores_names, "Precision of scores (default: exact)");
  add_value_option(command, "--scorer", arguments.scorers, scorer_names, "Scoring functions (default: bm25)");
  add_alpha_option(command, arguments.alpha);
  add_value_option(command, "--early-termination", arguments.early_termination, switches,
                   "Early termination with bm25+pagerank (default: on)");
  command.add_flag("--visits", arguments.visits,
                   "Instead of measuring times, count how much of their lists `and` queries read before ending early, "
                   "for indexes whose order is 'score'");
  add_repeats_option(command, arguments.repeats, "Repetitions of each query; the median time counts");
  add_number_option(command, "--warm-up", arguments.warm_up, "N", "Passes over all queries before measuring", 0u,
                    1000u);
  add_times_options(command, arguments.times);
  exclude_others(command, "--visits",
                 {"--query", "--queries", "--queries-format", "--id-field", "--text-field", "--queries-limit", "-k",
                  "--idf", "--alpha"});
  set_notes(command,
            {"All answers are compared before anything is measured; a wrong one stops the run. Times are those of one "
             "thread; with -j above 1, batches are measured too, on one thread and on all. Shares exceed 100 % if an "
             "algorithm reads lists twice, as and-or does.",
             "With --visits, JSON also has the number of queries that visit each part of the most frequent term's "
             "list, as in figure 3 of Wang et al.; scripts/plot draws it."},
            {{"quern bench query my.quern -q log.txt -k 10"},
             {"quern bench query maskpfd.quern rice.quern -q topics.txt -a or,maxscore -k 10,1000 --json > query.json"},
             {"quern bench query quantized.quern -q log.txt --scores exact,quantized"},
             {"quern bench query whole.quern shard-*.quern -q log.txt"},
             {"quern bench query my.quern -q log.txt -k 10 --times cpu.tsv"},
             {"quern bench query scored.quern -q log.txt --scorer bm25+pagerank --early-termination on,off -a and"},
             {"quern bench query rank.quern log.quern -q log.txt --visits -k 1,10,100 --json > visits.json"},
             {"scripts/plot query.json -o plots"}});
}

}  // namespace quern::tools
