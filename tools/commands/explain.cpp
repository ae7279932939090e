#include <fmt/format.h>

#include "quern/api/index.hpp"
#include "quern/search/expansion.hpp"
#include "quern/search/explanation.hpp"

#include "command.hpp"
#include "query_options.hpp"

namespace quern::tools {
namespace {

struct ExplainArguments {
  CommonOptions common;
  std::vector<std::string> indexes, docnos;
  QuerySource queries;
  ScoringArguments scoring;
  std::string expand;
};

/// A document of an index, and what explains its scores.
struct ExplainedDocument {
  const std::string& docno;
  docid_t docid;  ///< in the whole index
  docid_t docid_in_shard;
  const QueryEngine& engine;
};

/// A float as the shortest decimal that reads back as the same float, as runs have it.
Json float_json(float value) { return Json::parse(fmt::format("{}", value)); }

/// A term that the document's index or shard doesn't have has no numbers.
Json term_json(const TermExplanation& term, const ScoreExplanation& score) {
  const auto known = [&](Json number) { return term.df > 0 ? std::move(number) : Json(); };
  Json json = {{"term", term.term}, {"n", term.count}, {"df", known(term.df)}};
  if (!score.has_integers) json["idf"] = known(term.idf);
  json["weight"] = known(float_json(term.weight));
  json["f"] = term.freq;
  if (score.has_integers)
    json["integer"] = term.integer;
  else
    json["impact"] = float_json(term.impact);
  json["term_score"] = float_json(term.score);
  json["sum"] = float_json(term.sum);
  return json;
}

Json explanation_json(const Query& query, const ExplainedDocument& document, const ScoreExplanation& score) {
  const ScoringOptions& options = document.engine.options();
  Json json = {{"id", query.id},
               {"query", query.text},
               {"docno", document.docno},
               {"docid", document.docid},
               {"length", score.length}};
  if (!score.has_integers) {
    json["k1"] = options.bm25.k1;
    json["b"] = options.bm25.b;
    json["idf"] = name_of_value(idf_names, options.idf);
    json["documents"] = document.engine.index().manifest().statistics.documents;
    json["average_length"] = score.average_length;
    json["K"] = float_json(score.constant);
  }
  if (score.pagerank) {
    json["alpha"] = options.alpha;
    json["pagerank"] = float_json(*score.pagerank);
    json["static_score"] = float_json(score.static_score);
  }
  json["terms"] = Json::array();
  for (const TermExplanation& term : score.terms) json["terms"].push_back(term_json(term, score));
  json["score"] = score.score ? float_json(*score.score) : Json();
  return json;
}

/// The numbers in columns, each as the shortest decimal that reads back as the same number.
void print_text(const Query& query, const ExplainedDocument& document, const ScoreExplanation& score) {
  const ScoringOptions& options = document.engine.options();
  std::string text = fmt::format("query {}: {}\ndocument {}, docID {}, length {}\n", query.id, query.text,
                                 document.docno, document.docid, score.length);
  if (!score.has_integers)
    text += fmt::format("K {} with k1 {}, b {} and an average length of {}; IDF {} of {}\n", score.constant,
                        options.bm25.k1, options.bm25.b, score.average_length, name_of_value(idf_names, options.idf),
                        count_text(document.engine.index().manifest().statistics.documents, "document"));
  if (score.pagerank)
    text += fmt::format("static score {}, PageRank {} times alpha {}\n", score.static_score, *score.pagerank,
                        options.alpha);
  std::size_t columns = 4;
  for (const TermExplanation& term : score.terms) columns = std::max(columns, term.term.size());
  using Cell = const std::string&;
  const auto add = [&](Cell name, Cell n, Cell df, Cell idf, Cell weight, Cell f, Cell impact, Cell term_score,
                       Cell sum) {
    text += fmt::format("{:<{}} {:>6} {:>10}", name, columns, n, df);
    if (!score.has_integers) text += fmt::format(" {:>20}", idf);
    text += fmt::format(" {:>14} {:>8} {:>14} {:>14} {:>14}\n", weight, f, impact, term_score, sum);
  };
  add("term", "n", "df", "IDF", "weight", "f", score.has_integers ? "integer" : "impact", "term score", "sum");
  const auto shown = [](const Json& number) { return number.is_null() ? std::string("-") : number.dump(); };
  for (const TermExplanation& term : score.terms) {
    const Json json = term_json(term, score);
    add(term.term, fmt::format("{}", term.count), shown(json["df"]), score.has_integers ? "" : shown(json["idf"]),
        shown(json["weight"]), shown(json["f"]), shown(json[score.has_integers ? "integer" : "impact"]),
        shown(json["term_score"]), shown(json["sum"]));
  }
  text += score.score ? fmt::format("score {}\n\n", *score.score)
                      : "no score: the document contains none of the terms, so it is never a result\n\n";
  print(text);
}

/// An engine for each shard.
std::vector<std::unique_ptr<QueryEngine>> engines_of(const ExplainArguments& arguments, const IndexShards& shards,
                                                     unsigned threads) {
  std::vector<std::unique_ptr<QueryEngine>> engines;
  for (const IndexReader& shard : shards)
    engines.push_back(
        std::make_unique<QueryEngine>(shard, scoring_options(arguments.scoring, shard, arguments.queries), threads));
  return engines;
}

/// Expands queries on the CPU, as quern query does; without --expand, leaves them as they are.
class Expansions {
 public:
  /// All that is passed must outlive the object.
  Expansions(const std::string& expand, const IndexShards& shards,
             const std::vector<std::unique_ptr<QueryEngine>>& engines) {
    if (expand.empty()) return;
    forwards_ = QueryExpander::open_forwards(shards);
    for (const auto& engine : engines) engines_.push_back(engine.get());
    backend_.emplace(engines_);
    expander_.emplace(read_expansion(expand), engines_, forwards_);
  }

  QueryTerms apply(QueryTerms query) const {
    if (!expander_) return query;
    return expander_->expand(query, backend_->search(query, all_algorithms().front(), expander_->documents()));
  }

 private:
  std::vector<ForwardReader> forwards_;
  std::vector<const QueryEngine*> engines_;
  std::optional<CpuBackend> backend_;
  std::optional<QueryExpander> expander_;
};

void run(const ExplainArguments& arguments) {
  const Resources resources = make_resources(arguments.common);
  const IndexShards shards = IndexShards::open(arguments.indexes);
  const std::vector<Query> queries = read_queries(arguments.queries, arguments.common);
  const std::vector<std::unique_ptr<QueryEngine>> engines = engines_of(arguments, shards, resources.threads);
  const Expansions expansions(arguments.expand, shards, engines);
  std::vector<ExplainedDocument> documents;
  for (const std::string& docno : arguments.docnos) {
    const std::optional<docid_t> docid = shards.find_docno(docno);
    if (!docid) throw InvalidArgument("{}: has no document {}; query prints docnos", shards.name(), docno);
    const IndexShards::Place place = shards.place(*docid);
    documents.push_back({docno, *docid, place.docid, *engines[place.shard]});
  }
  const QueryReader reader = engines.front()->reader(query_kind(arguments.queries.layout.format));
  Json json = Json::array();
  for (const Query& query : queries) {
    const QueryTerms terms = expansions.apply(reader.read(query.text));
    for (const ExplainedDocument& document : documents) {
      const ScoreExplanation score = explain_score(document.engine, terms, document.docid_in_shard);
      if (arguments.common.json)
        json.push_back(explanation_json(query, document, score));
      else
        print_text(query, document, score);
    }
  }
  if (arguments.common.json) print_json(json);
}

}  // namespace

void add_explain_command(CLI::App& program) {
  auto [command, arguments] = add_command<ExplainArguments>(
      program, "explain", "Show how documents get their scores for a query, term by term", run);
  add_shards_argument(command, arguments.indexes)->required();
  add_query_source_options(command, arguments.queries, QueryKinds::text_and_vectors);
  add_option(command, "--docno", arguments.docnos, "DOCNO", "A document; may be repeated")
      ->required()
      ->allow_extra_args(false);
  add_expand_option(command, arguments.expand);
  add_scoring_options(command, arguments.scoring);
  command.add_flag("--json", arguments.common.json, "Print the explanations as a JSON array");
  add_common_options(command, arguments.common);
  set_notes(
      command,
      {"Prints the numbers of formats/scores.md in the order in which they are added: the last sum is exactly the "
       "score that quern query prints. Of several documents with a docno, it explains that with the lowest docID."},
      {{"quern explain my.quern --query \"water mill\" --docno MILL-0785"}});
}

}  // namespace quern::tools
