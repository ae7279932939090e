#include <fmt/format.h>

#include <map>

#include "quern/api/internal/index_impl.hpp"
#include "quern/api/tuning.hpp"
#include "quern/tune/parameter_grid.hpp"

#include "command.hpp"
#include "figures.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct TuneArguments {
  CommonOptions common;
  std::vector<std::string> indexes;
  std::string topics, qrels;
  QueryLayout layout;
  ScoringArguments scoring;  ///< idf and scorer
  api::TuningOptions options;
  std::string output;  ///< the run of the cross-validation; empty: none
};

/// A parameter's values, from 0 to `max`: numbers and ranges.
void add_values_option(CLI::App& command, const std::string& option, std::vector<double>& values, double max,
                       const std::string& help) {
  const auto take = [&values](const CLI::results_t& texts) {
    for (const std::string& text : texts)
      for (const double value : parameter_values(text)) values.push_back(value);
    return true;
  };
  const auto check = [max](const std::string& text) -> std::string {
    try {
      for (const double value : parameter_values(text))
        if (!(value >= 0 && value <= max)) return fmt::format("{} is not a number from 0 to {}", value, max);
      return {};
    } catch (const InvalidArgument& wrong) {
      return wrong.what();
    }
  };
  add_option(command, option, take, "X", help)
      ->type_size(1)
      ->expected(1, CLI::detail::expected_max_vector_size)
      ->check(checked_by(check))
      ->delimiter(',');
}

/// The parameters that a table shows: those that were tuned.
template <class Visit>
void for_each_parameter(const api::Tuning& tuning, const api::TunedPoint& point, Visit&& visit) {
  for (const std::string& name : tuning.tuned)
    visit(name, name == "k1" ? point.k1 : name == "b" ? point.b : point.alpha);
}

/// "k1 0.8, b 0.4"
std::string point_text(const api::Tuning& tuning, const api::TunedPoint& point) {
  std::string text;
  for_each_parameter(tuning, point, [&](const std::string& name, double value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  });
  return text;
}

/// The options of `quern query` that rank with a point.
std::string query_options(const TuneArguments& arguments, const api::TunedPoint& point) {
  std::string text = fmt::format("--k1 {} --b {}", point.k1, point.b);
  const ScoringArguments& scoring = arguments.scoring;
  if (scoring.idf != Idf::lucene) text += fmt::format(" --idf {}", name_of_value(idf_names, scoring.idf));
  if (scoring.scorer == Scorer::bm25_pagerank)
    text += fmt::format(" --scorer {} --alpha {}", name_of_value(scorer_names, scoring.scorer), point.alpha);
  return text;
}

Row point_row(const api::Tuning& tuning, const api::TunedPoint& point) {
  Row row;
  for_each_parameter(tuning, point, [&](const std::string& name, double value) {
    row.push_back({name, value, name, "{:g}"});
  });
  row.push_back({"value", point.value, tuning.measure, "{:.4f}"});
  return row;
}

Row fold_row(const api::Tuning& tuning, std::size_t number) {
  const api::TunedFold& fold = tuning.folds[number];
  Row row = {{"fold", number + 1, "fold"}, {"queries", fold.queries, "queries"}};
  for_each_parameter(tuning, fold.point, [&](const std::string& name, double value) {
    row.push_back({name, value, name, "{:g}"});
  });
  append(row, {{"value", fold.point.value, tuning.measure, "{:.4f}"}, {"others", fold.others, "on others", "{:.4f}"}});
  return row;
}

void print_tuning(const TuneArguments& arguments, const api::Tuning& tuning) {
  FigureTable table;
  for (const api::TunedPoint& point : tuning.points) table.add(point_row(tuning, point));
  std::string text = table.take_text();
  table.end();
  for (std::size_t i = 0; i < tuning.folds.size(); ++i) table.add(fold_row(tuning, i));
  if (!tuning.folds.empty()) text += "\n" + table.take_text();
  const std::string best = point_text(tuning, tuning.best), start = point_text(tuning, tuning.start);
  text += fmt::format("\n{} {:.4f} with {}; ", tuning.measure, tuning.best.value, best);
  text += best == start ? "no other point is better\n" : fmt::format("{:.4f} with {}\n", tuning.start.value, start);
  if (tuning.cross_validated)
    text += fmt::format("{} {:.4f} with {}, each chosen on the others\n", tuning.measure, *tuning.cross_validated,
                        count_text(tuning.folds.size(), "fold"));
  text += fmt::format("quern query {} {}\n", fmt::join(arguments.indexes, " "), query_options(arguments, tuning.best));
  print(text);
}

void print_tuning_json(const TuneArguments& arguments, const api::Tuning& tuning) {
  const api::TuningOptions& options = arguments.options;
  Json json = {{"bench", "tune"},  // what scripts/plot is to draw
               {"index", arguments.indexes},
               {"topics", arguments.topics},
               {"qrels", arguments.qrels},
               {"k", options.k},
               {"measure", tuning.measure},
               {"queries", tuning.queries},
               {"parameters", tuning.tuned},
               {"points", Json::array()},
               {"best", to_json(point_row(tuning, tuning.best))},
               {"start", to_json(point_row(tuning, tuning.start))},
               {"folds", Json::array()},
               {"cross_validated", tuning.cross_validated ? Json(*tuning.cross_validated) : Json()},
               {"query_options", query_options(arguments, tuning.best)}};
  for (const api::TunedPoint& point : tuning.points) json["points"].push_back(to_json(point_row(tuning, point)));
  for (std::size_t i = 0; i < tuning.folds.size(); ++i) json["folds"].push_back(to_json(fold_row(tuning, i)));
  print_json(json);
}

/// Appends the results of topics to a run.
void append_results(const api::Searcher& searcher, std::span<const api::Topic* const> topics, std::size_t k,
                    const api::Work& work, TextOutput& run) {
  std::vector<api::Query> queries;
  for (const api::Topic* const topic : topics) queries.push_back(topic->query);
  const api::BatchResults found = searcher.batch(queries, {k, {}}, work);
  for (std::size_t i = 0; i < topics.size(); ++i) {
    const std::size_t from = found.offsets[i], size = found.offsets[i + 1] - from;
    std::string text;
    api::append_trec_run(text, searcher.index(), topics[i]->qid, std::span(found.docids).subspan(from, size),
                         std::span(found.scores).subspan(from, size));
    run.write(text);
  }
}

/// Writes a run of the topics in folds, each with the parameters that are best on the others.
void write_run(const api::Index& index, const std::vector<api::Topic>& topics, const api::TuningOptions& options,
               const api::Tuning& tuning, const api::Work& work, TextOutput& run) {
  using Parameters = std::array<double, 3>;
  std::map<std::string_view, Parameters> chosen;
  for (const api::TunedFold& fold : tuning.folds)
    for (const std::string& qid : fold.qids) chosen[qid] = {fold.point.k1, fold.point.b, fold.point.alpha};
  std::map<Parameters, std::vector<const api::Topic*>> answered;
  for (const api::Topic& topic : topics)
    if (const auto found = chosen.find(topic.qid); found != chosen.end()) answered[found->second].push_back(&topic);
  for (const auto& [parameters, group] : answered) {
    api::Scoring scoring;
    scoring.k1 = parameters[0];
    scoring.b = parameters[1];
    scoring.idf = options.idf;
    scoring.scorer = options.scorer;
    if (options.scorer == api::Scorer::bm25_pagerank) scoring.alpha = parameters[2];
    const api::Searcher searcher(index, scoring, {}, work);
    constexpr std::size_t max_together = 1000;  // whose results are in memory
    for (std::size_t first = 0; first < group.size(); first += max_together)
      append_results(searcher, std::span(group).subspan(first, std::min(max_together, group.size() - first)), options.k,
                     work, run);
  }
}

void run(const TuneArguments& arguments) {
  if (arguments.topics == "-" && arguments.qrels == "-")
    throw usage_error("topics and judgements can't both be read from standard input");
  const Resources resources = make_resources(arguments.common, arguments.output);
  std::optional<TextOutput> run;
  if (!arguments.output.empty()) run.emplace(arguments.output, arguments.common.force);
  const api::Index index = api::Index::open_shards(arguments.indexes);
  const std::vector<Query> queries = read_query_file(arguments.topics, arguments.layout, arguments.common);
  std::vector<api::Topic> topics;
  topics.reserve(queries.size());
  for (const Query& query : queries) topics.push_back({query.id, query.text});
  api::TuningOptions options = arguments.options;
  options.idf = arguments.scoring.idf == Idf::lucene ? api::Idf::lucene : api::Idf::robertson;
  options.scorer = arguments.scoring.scorer == Scorer::bm25 ? api::Scorer::bm25 : api::Scorer::bm25_pagerank;
  const api::Work work = make_work(arguments.common, resources);
  const api::Tuning tuning = api::tune(index, topics, arguments.qrels, options, work);
  if (run) {
    write_run(index, topics, options, tuning, work, *run);
    run->finish();
  }
  arguments.common.json ? print_tuning_json(arguments, tuning) : print_tuning(arguments, tuning);
}

}  // namespace

void add_tune_command(CLI::App& program) {
  auto [command, arguments] = add_command<TuneArguments>(
      program, "tune", "Find the k1 and b with which judged queries have the best results", run);
  add_shards_argument(command, arguments.indexes)->required();
  add_input_option(command, "-q,--queries", arguments.topics, "FILE",
                   "File of topics, plain or compressed; - is standard input")
      ->required();
  add_query_layout_options(command, arguments.layout, "Format of the file");
  add_input_option(command, "--qrels", arguments.qrels, "FILE", "The topics' relevance judgements")->required();
  add_values_option(command, "--k1", arguments.options.k1, 1000,
                    "Values of k1 to try: numbers, and ranges FIRST:LAST:STEP such as 0.4:2.0:0.2");
  add_values_option(command, "--b", arguments.options.b, 1, "Values of b to try");
  add_values_option(command, "--alpha", arguments.options.alpha, 1,
                    "With --scorer bm25+pagerank: values of the weight of PageRank to try");
  command.add_flag("--by-coordinates", arguments.options.by_coordinates,
                   "Instead of all combinations, try the values of one parameter after the other, from a start on, "
                   "until none is better");
  add_settings_option(command, "--start", "Where --by-coordinates starts (default: the index's parameters)",
                      [&options = arguments.options](CLI::App& settings) {
                        add_number_option(settings, "--k1", options.start_k1, "X", "k1", 0.0, 1000.0);
                        add_number_option(settings, "--b", options.start_b, "X", "b", 0.0, 1.0);
                        add_number_option(settings, "--alpha", options.start_alpha, "X", "the weight of PageRank", 0.0,
                                          1.0);
                      });
  CLI::Option* const folds = add_number_option(
      command, "--folds", arguments.options.folds, "N",
      "Cross-validation: choose parameters for each of N parts of the topics on the others", 2, std::uint64_t{1} << 32);
  add_output_option(command, "-o,--output", arguments.output, "FILE",
                    "With --folds: also write a run of the judged topics, each answered with the parameters that were "
                    "chosen without it")
      ->needs(folds);
  command.add_flag("--force", arguments.common.force, "Overwrite an existing run");
  add_option(command, "--measure", arguments.options.measure, "NAME",
             "The measure to raise, one of those of quern eval --measures, such as nDCG@10")
      ->check(measure_validator())
      ->capture_default_str();
  add_judgement_options(command, arguments.options);
  add_number_option(command, "-k", arguments.options.k, "N", "Results per topic", 1, end_docid);
  add_idf_option(command, arguments.scoring.idf);
  add_value_option(command, "--scorer", arguments.scoring.scorer, scorer_names,
                   with_choices("Scoring function:", scorer_names));
  command.add_flag("--json", arguments.common.json, "Print the values as JSON, for scripts/plot too");
  add_work_options(command, arguments.common);
  set_notes(
      command,
      {"Prints the measure at each point, the best point, and the options of quern query that rank with it; the values "
       "are those of quern eval for runs with these options. Without --k1, --b and --alpha, k1 is 0.4:2.0:0.4 and b is "
       "0.1:0.9:0.2; with one of them, the others keep the index's values. The best point is that of the index, or "
       "of --start, unless another is better; of equal ones, the first.",
       "With --folds, topics are in parts 1, 2, ... N, 1, ... in the order of their ids' bytes. Parameters of stored "
       "weights (quern index --weights) are fixed when an index is built."},
      {{"quern tune my.quern -q topics.txt --qrels my.qrels"},
       {"quern tune my.quern -q topics.txt --qrels my.qrels --k1 0.4:2.0:0.1 --b 0.2,0.4,0.75 --measure nDCG@10"},
       {"quern tune my.quern -q topics.txt --qrels my.qrels --folds 5",
        "What the best parameters gain on topics that they were not chosen on"},
       {"quern tune my.quern -q topics.txt --qrels my.qrels --folds 5 -o tuned.run",
        "The same, with a run to compare with others by quern eval --compare"},
       {"quern tune my.quern -q topics.txt --qrels my.qrels --k1 0.1:4.0:0.1 --b 0:1:0.05 --by-coordinates"},
       {"quern tune my.quern -q topics.txt --qrels my.qrels --json > tune.json && scripts/plot tune.json -o plots",
        "With a heat map"}});
}

}  // namespace quern::tools
