#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/texts_file.hpp"
#include "quern/index/verify_index.hpp"
#include "quern/plan/cache_plan.hpp"
#include "quern/rank/features/feature_list.hpp"
#include "quern/rank/run_topics.hpp"
#include "quern/search/document_set.hpp"
#include "quern/search/intersect.hpp"
#include "quern/search/search_backend.hpp"
#include "quern/text/snippet.hpp"
#include "quern/tune/tuner.hpp"

#include "failing_calls/failing_entry_points.hpp"
#include "failing_calls/failing_new.hpp"
#include "result_fields.hpp"

namespace quern::testing {
namespace {

constexpr std::string_view queries[] = {"mill", "water mill", "stone wheel mill", "nothing"};

void look_up(const Workplace& place) {
  const IndexReader reader = place.index();
  for (std::uint64_t block = 0; block < reader.num_lexicon_blocks(); ++block)
    reader.for_each_list(block, [](std::string_view, const PostingList&) {});
  for (const std::string_view term : {"mill", "unknown"}) reader.find(term);
  for (term_t number = 0; number < reader.manifest().terms; ++number) {
    reader.list(number);
    reader.term(number);
  }
  for (docid_t docid = 0; docid < reader.num_documents(); ++docid) {
    reader.find_docno(reader.docno(docid));
    reader.text(docid);
  }
  reader.check_document_scores();
  kind_of_file("index");
}

void read_texts(const Workplace& place) {
  const IndexReader reader = place.index();
  const TextsReader texts = TextsReader::open_beside(reader);
  TextBuffers buffers;
  for (docid_t docid = 0; docid < texts.num_documents(); ++docid) texts.read(docid, buffers, [](std::string_view) {});
  texts.container().verify(place.resources);
  verify_texts(texts, reader, place.resources);
}

void make_snippet(Analyzer& analyzer) {
  SnippetMaker maker("water mill", analyzer);
  maker.add("The water of a mill in a town whose name is longer than others");
  maker.finish();
}

void filter(const Workplace& place) {
  const IndexReader reader = place.index();
  const FieldsReader fields = FieldsReader::open_beside(reader);
  fields.container().verify(place.resources);
  fields.verify_contents(place.resources);
  evaluate_filter(parse_filter("not (has lang or url^='http://none' and docno in (M-1, M-2))"), reader, &fields,
                  place.resources);
  const auto list = translate_errors([] { return ByteSource::from_memory("list", "M-1\nM-9\n"); });
  read_docno_list(*list, {&reader, 1}, place.resources);
}

void rerank(const Workplace& place) {
  const IndexReader reader = place.index();
  const ForwardReader forward = ForwardReader::open(reader);
  forward.verify_contents(reader, place.resources);
  std::vector<TopicResults> topics;
  ModelFile file;
  {
    const OwnWork own;
    topics = {{"1", "mill water unknown", {{0, 1.0f}, {1, 0.5f}}}};
    file = {"model", "## Coordinate Ascent\n28:-1.0 1:0.5\n"};
  }
  auto shards = [&] {
    const OwnWork own;
    return std::vector<FeatureShard>{{reader, forward}};
  }();
  const Reranker reranker(std::move(shards), bind_features(parse_ranker(file), select_features("all"), file.name),
                          "model");
  rerank_topics(reranker, topics, 2, place.resources);
}

void search(const Workplace& place) {
  const IndexReader reader = place.index();
  const QueryEngine engine(reader, {}, place.resources.threads);
  AnswerConsumer consumer;
  consumer.threads = place.resources.threads;
  consumer.take = [](std::size_t, const QueryAnswer&) {};
  const ParsedQueries read = engine.reader().read(queries, place.resources.threads);
  std::vector<const QueryEngine*> engines;
  {
    const OwnWork own;
    engines = {&engine};
  }
  CpuBackend backend(std::move(engines));
  for (const QueryAlgorithm& algorithm : all_algorithms()) run(backend, {read.views(), &algorithm, 3}, consumer);
}

void intersect(const Workplace& place) {
  const IndexReader reader = place.index();
  for (const IntersectionMethod& method : all_intersection_methods()) {
    const Intersection intersection(reader, method, {});
    const ParsedQueries read = intersection.reader().read(queries, place.resources.threads);
    intersect_batch(intersection, read.views(), place.resources.threads, [](std::size_t, const IntersectionAnswer&) {});
  }
}

/// What quern query prints for results: fields, and snippets of the texts.
void show_results(const Workplace& place) {
  std::vector<std::string> names;
  std::vector<Query> asked;
  std::vector<IndexReader> indexes;
  {
    const OwnWork own;
    indexes.reserve(1);
    names = {"title", "url", "lang", "text"};
    for (const std::string_view text : queries) asked.push_back({"1", std::string(text)});
  }
  indexes.push_back(place.index());
  const IndexShards shards(std::move(indexes));
  const IndexReader& reader = shards[0];
  translate_errors([&] {
    const tools::ResultFields fields(names, shards);
    const tools::ResultText texts(shards, run_format_named("json"), long_name, &fields, false);
    AnswerConsumer consumer;
    consumer.threads = place.resources.threads;
    consumer.render = [&](std::size_t i, QueryAnswer& answer) {
      texts.write(asked[i], answer.documents, std::nullopt, [&](std::string text) { answer.text = std::move(text); });
    };
    consumer.take = [](std::size_t, const QueryAnswer&) {};
    const QueryEngine engine(reader, {}, place.resources.threads);
    const ParsedQueries read = engine.reader().read(queries, place.resources.threads);
    CpuBackend backend({&engine});
    run(backend, {read.views(), &algorithm_named("or"), 3}, consumer);
  });
}

void tune_scores(const Workplace& place) {
  std::vector<IndexReader> readers;
  readers.push_back(place.index());
  const IndexShards index(std::move(readers));
  const QueryEngine engine(index[0], {});
  const ParsedQueries read = engine.reader().read(queries, place.resources.threads);
  const auto qrels = [] {
    const OwnWork own;
    return ByteSource::from_memory("qrels", "1 0 M-1 1\n2 0 M-2 1\n2 0 a-docno-that-is-too-long-for-a-small-text 1\n");
  }();
  const std::vector<TuningTopic> topics = {{"1", read.views()[1]}, {"2", read.views()[2]}};
  TuningOptions options;
  options.grid = {parameter_values("0.5:2.0:0.5"), {0, 1}, {0}};
  options.measure.measure = measures_named(std::string_view("map")).front();
  options.folds = 2;
  tune({&engine}, index, topics, *qrels, options, place.resources, [] {});
}

void plan(const Workplace& place) {
  const IndexReader reader = place.index();
  const LogPlanner planner(reader, {}, 0, place.resources);
  PlanOptions options;
  options.budget_bytes = 1 << 20;
  const auto read_log = [](LogQueries& log) {
    for (const std::string_view query : queries) log.add(query);
  };
  planner.write(options, read_log, "plan", true);
}

void simulate(const Workplace& place) {
  const IndexReader reader = place.index();
  const CachePlan plan = PlanReader::open("plan").load_for(reader);
  LogQueries log(reader.manifest().analyzer, place.resources);
  for (const std::string_view query : queries) log.add(query);
  simulate_plan(plan, reader, log, 2, place.resources);
}

}  // namespace

std::vector<EntryPoint> query_calls(const Workplace& place) {
  const auto analyzer = std::make_shared<Analyzer>(make_analyzer_options("porter2", "english"));
  return {{"look up in an index", [&] { look_up(place); }},
          {"read texts", [&] { read_texts(place); }},
          {"snippets", [analyzer] { make_snippet(*analyzer); }},
          {"filter", [&] { filter(place); }},
          {"query engine", [&] { search(place); }},
          {"show results", [&] { show_results(place); }},
          {"rerank", [&] { rerank(place); }},
          {"intersect", [&] { intersect(place); }},
          {"tune", [&] { tune_scores(place); }},
          {"plan", [&] { plan(place); }},
          {"simulate", [&] { simulate(place); }}};
}

}  // namespace quern::testing
