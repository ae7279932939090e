#include "query_options.hpp"

#include <fmt/format.h>

#include <limits>

#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/index_settings.hpp"
#include "quern/eval/measure.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/search/expansion.hpp"

namespace quern::tools {
namespace {

/// Looks at the query of --query before any work.
void look_at_only_query(const QuerySource& source, const CommonOptions& options) {
  if (source.layout.format == QueryFormat::vector) parse_query_vector(source.text, "--query");
  QueryRemarks(options, source.layout.format).look_at(source.text);
}

}  // namespace

void add_query_source_options(CLI::App& command, QuerySource& source, QueryKinds kinds) {
  CLI::Option* file =
      add_input_option(command, "-q,--queries", source.file, "FILE",
                       "File of queries, plain or compressed (gzip, zstd, bzip2, xz, .Z); - is standard input");
  require_one_of(command, add_option(command, "--query", source.text, "TEXT", "One query"), file);
  add_query_layout_options(command, source.layout, "Format of the file", kinds);
  if (kinds != QueryKinds::text_and_vectors) return;
  add_number_option(command, "--query-scale", source.query_scale, "X",
                    "With --queries-format vector, multiply weights by X and round them, to get integer scores "
                    "(default: weights must be whole numbers)",
                    min_query_weight, max_query_weight);
}

void check_query_scale(const QuerySource& source) {
  if (source.query_scale && source.layout.format != QueryFormat::vector)
    throw usage_error("--query-scale needs --queries-format vector");
}

void add_query_layout_options(CLI::App& command, QueryLayout& layout, const std::string& help, QueryKinds kinds) {
  if (kinds == QueryKinds::text)
    add_value_option(command, "--queries-format", layout.format, text_query_formats, help);
  else
    add_value_option(command, "--queries-format", layout.format, query_formats, help);
  add_option(command, "--id-field", layout.id_field, "KEY",
             "JSON key, tag or attribute that contains a query's id (default: the format's own)");
  add_option(
      command, "--text-field", layout.text_fields, "KEY",
      "JSON keys or tags whose texts together are a query, in this order, such as title,desc (default: the format's "
      "own)")
      ->delimiter(',');
}

std::vector<Query> read_query_file(const std::string& path, const QueryLayout& layout, const CommonOptions& options) {
  QueryFile file = quern::read_queries(path, layout);
  QueryRemarks remarks(options, layout.format);
  for (const Query& query : file.queries) remarks.look_at(query.text);
  remarks.look_at_format(source_name(path), file.format);
  return std::move(file.queries);
}

std::vector<Query> read_queries(const QuerySource& source, const CommonOptions& options) {
  if (!source.file.empty()) return read_query_file(source.file, source.layout, options);
  look_at_only_query(source, options);
  return {{"1", source.text}};
}

std::vector<std::string_view> texts_of(const std::vector<Query>& queries) {
  std::vector<std::string_view> texts;
  texts.reserve(queries.size());
  for (const Query& query : queries) texts.push_back(query.text);
  return texts;
}

QueryLogFile::QueryLogFile(const std::string& path, QueryLayout layout, const Resources& resources)
    : name_(source_name(path)), layout_(std::move(layout)), text_(path, query_file_limits(), resources) {
  layout_.limit_memory(resources.memory_bytes);
}

QueryFormat QueryLogFile::for_each(const QueryVisitor& visit) const {
  return for_each_query(as_text(text_.bytes()), layout_, name_, visit,
                        [&](std::string_view piece) { text_.release(as_bytes(piece)); });
}

void QueryLogFile::for_each(QueryRemarks& remarks, const QueryVisitor& visit) const {
  const QueryFormat found = for_each([&](std::string_view id, std::string_view text) {
    remarks.look_at(text);
    visit(id, text);
  });
  remarks.look_at_format(name_, found);
}

QueryGroups::QueryGroups(const QuerySource& source, const CommonOptions& options, const Resources& resources)
    : text_(source.text), max_group_bytes_(resources.memory_bytes / 16) {
  if (source.file.empty()) {
    look_at_only_query(source, options);
    return;
  }
  QueryRemarks remarks(options, source.layout.format);
  file_.emplace(source.file, source.layout, resources);
  count_ = 0;
  file_->for_each(remarks, [&](std::string_view id, std::string_view) {
    remarks.look_at_id(id);
    ++count_;
  });
}

void QueryGroups::for_each(const std::function<void(const std::vector<Query>&)>& visit) const {
  std::vector<Query> group;
  if (!file_) {
    group.push_back({"1", text_});
    return visit(group);
  }
  std::uint64_t bytes = 0;
  const auto end_group = [&] {
    if (!group.empty()) visit(group);
    group.clear();
    bytes = 0;
  };
  file_->for_each([&](std::string_view id, std::string_view text) {
    const std::uint64_t more = sizeof(Query) + id.size() + text.size();
    if (group.size() == max_group || bytes + more > max_group_bytes_) end_group();
    group.push_back({std::string(id), std::string(text)});
    bytes += more;
  });
  end_group();
}

void UnknownQueries::add(const Query& query, QueryView terms) {
  for (const QueryTerm& term : terms)
    for (const IndexReader& shard : index_)
      if (shard.find(term.term)) return;
  if (count_++ == 0) first_ = query;
}

void UnknownQueries::report(const CommonOptions& options) const {
  if (count_ == 1) say(options, "quern: note: the index has no term of the query: {}", first_.text);
  if (count_ > 1)
    say(options, "quern: note: the index has no term of {} queries; the first is {}: {}", count_, first_.id,
        first_.text);
}

TextOutput::TextOutput(const std::string& path, bool force) {
  if (path.empty()) return;
  file_.reset(new AtomicOutput(AtomicOutput::file(path, force)));
  out_.emplace(file_->file());
}

void TextOutput::write(std::string_view text) {
  if (out_)
    out_->write(as_bytes(text));
  else
    print(text);
}

void TextOutput::show() {
  if (!out_) flush_output();
}

void TextOutput::finish() {
  if (!out_) return show();
  out_->flush();
  file_->commit();
}

StatisticsFile::StatisticsFile(const std::string& path) {
  if (!path.empty()) file_.reset(new AtomicOutput(AtomicOutput::file(path, true)));
}

void StatisticsFile::write(const std::string& statistics) {
  file_->file().write_at(0, as_bytes(statistics + "\n"));
  file_->commit();
}

void add_filter_option(CLI::App& command, std::optional<std::string>& filter) {
  name_file(add_option(command, "--filter", filter, "FILTER",
                       "Only documents that pass an expression such as 'lang=en and not url^=http://a.example/', over "
                       "docno, url and the fields kept by quern index --keep-fields, or @FILE, a list of docnos, one "
                       "per line"),
            {.takes_words = true});
}

std::optional<api::Filter> open_filter(const std::optional<std::string>& filter, const std::string& queries,
                                       const api::Index& index, Resources& resources, const CommonOptions& options) {
  if (!filter) return std::nullopt;
  const bool is_list = filter->starts_with('@');
  const std::string list = is_list ? filter->substr(1) : std::string();
  if (is_list && list.empty()) throw usage_error("--filter @: the name of a list is missing, as in @docnos.txt");
  if (list == "-" && queries == "-")
    throw usage_error("--filter @- and queries can't both be read from standard input");
  const api::Work work = make_work(options, resources);
  const api::Filter passing =
      is_list ? api::Filter::listed(index, list, work) : api::Filter::matching(index, *filter, work);
  resources.memory_bytes -= passing.impl()->bytes();
  if (passing.count() == 0) say(options, "quern: --filter: no document of the index passes");
  return passing;
}

void add_alpha_option(CLI::App& command, std::optional<double>& alpha) {
  add_number_option(command, "--alpha", alpha, "A", "Weight of PageRank in scores (default: the index's, or 0.3)", 0.0,
                    1.0);
}

void add_idf_option(CLI::App& command, Idf& idf) {
  add_value_option(command, "--idf", idf, idf_names, "Formula for the inverse document frequency");
}

void add_score_options(CLI::App& command, ScoringArguments& arguments) {
  add_idf_option(command, arguments.idf);
  add_value_option(command, "--scores", arguments.scores, scores_names,
                   with_choices("Precision of scores:", scores_names))
      ->each([&arguments](const std::string&) { arguments.names_scores = true; });
  add_value_option(command, "--scorer", arguments.scorer, scorer_names,
                   with_choices("Scoring function:", scorer_names));
}

void add_scoring_options(CLI::App& command, ScoringArguments& arguments) {
  add_number_option(command, "--k1", arguments.k1, "X", "BM25's k1 (default: the index's)", 0.0, 1000.0);
  add_number_option(command, "--b", arguments.b, "X", "BM25's b (default: the index's)", 0.0, 1.0);
  add_score_options(command, arguments);
  add_alpha_option(command, arguments.alpha);
  command.add_flag("--no-early-termination", arguments.no_early_termination,
                   "Read all lists to the end, even if global scores show that no more results can follow");
}

ScoringOptions scoring_options(const ScoringArguments& arguments, const IndexReader& index) {
  if (arguments.alpha && arguments.scorer != Scorer::bm25_pagerank)
    throw CLI::ValidationError("--alpha", "needs --scorer bm25+pagerank");
  if (arguments.names_scores && arguments.scores == Scores::exact && index.manifest().impacts)
    throw CLI::ValidationError("--scores", "exact: this index stores weights, whose sums are integers; omit it");
  ScoringOptions options = scoring_of_index(index, {arguments.k1, arguments.b, arguments.alpha});
  options.idf = arguments.idf;
  options.scores = arguments.scores;
  options.scorer = arguments.scorer;
  options.early_termination = !arguments.no_early_termination;
  return options;
}

ScoringOptions scoring_options(const ScoringArguments& arguments, const IndexReader& index,
                               const QuerySource& queries) {
  check_query_scale(queries);
  ScoringOptions options = scoring_options(arguments, index);
  options.query_scale = queries.query_scale;
  return options;
}

void QueryRemarks::look_at(std::string_view query) {
  if (format_ == QueryFormat::vector || options_.quiet) return;
  if (reported_.phrase && reported_.operators && reported_.field && reported_.marks) return;
  const QuerySyntax syntax = syntax_in(query);
  const auto say_once = [&](bool is_there, bool& reported, const char* what) {
    if (!is_there || reported) return;
    reported = true;
    say(options_, "quern: note: {}, for example in: {}", what, query);
  };
  say_once(syntax.phrase, reported_.phrase, "words in quotation marks are not read as a phrase, but one by one");
  say_once(syntax.operators, reported_.operators,
           "AND, OR and NOT are read as words; --algorithm says what must match");
  say_once(syntax.field, reported_.field, "the field's name in NAME:WORD is read as a word");
  say_once(syntax.marks, reported_.marks, "the characters + - * ~ ^ next to a word are ignored");
}

void QueryRemarks::look_at_id(std::string_view id) {
  if (options_.quiet || repeated_id_reported_ || !ids_.is_repeated(id)) return;
  repeated_id_reported_ = true;
  say(options_, "quern: note: more than one query has the id {}; their results have the same id", id);
}

void QueryRemarks::look_at_format(const std::string& name, QueryFormat found) {
  if (format_ != QueryFormat::automatic || std::exchange(format_reported_, true)) return;
  say(options_, "quern: note: {}: read as {}; --queries-format names another format", name,
      name_of_value(query_formats, found));
}

CLI::Validator measure_validator() {
  return refusing_as([](const std::string& text) { measures_named(std::string_view(text)); });
}

void add_budget_options(CLI::App& command, SearchBudget& budget) {
  add_number_option(command, "--budget-us", budget.time_us, "US",
                    "Stop searching for a query after US microseconds; the JSON output says whether its results are "
                    "nevertheless proven exact. For auto, maxscore and bmp on the CPU",
                    1, max_budget_us);
  add_number_option(command, "--blocks-left-out", budget.blocks_left_out, "X",
                    "Leave out X percent of the blocks of documents that may contain results, those with the lowest "
                    "upper bounds (100: score a single one); as --budget-us, but repeatable",
                    0, 100);
}

QueryAlgorithm algorithm_within(const std::string& name, const SearchBudget& budget) {
  try {
    return within_budget(algorithm_named(name), budget);
  } catch (const InvalidArgument& wrong) {
    throw CLI::ValidationError(wrong.what());
  }
}

void add_expand_option(CLI::App& command, std::string& expand) {
  add_option(command, "--expand", expand, "MODEL",
             with_choices("Answer each query twice: expanded, the second time, with terms of its best documents; the "
                          "index needs a forward file. Parameters follow the name: rm3:documents=20,weight=0.6. The "
                          "models:",
                          all_expansion_models()))
      ->check(refusing_as(read_expansion));
}

void add_features_option(CLI::App& command, std::string& features, const std::string& help) {
  add_option(command, "--features", features, "LIST", help)->capture_default_str();
}

CLI::Option* add_ranker_options(CLI::App& command, api::RankerOptions& ranker) {
  add_features_option(
      command, ranker.features,
      "The --features list used when the model was trained, which gives its feature numbers their meaning");
  add_number_option(command, "--features-from", ranker.features_from, "N",
                    "What the model numbers features from: 0 if it was trained on an array, 1 on a file of features. "
                    "Dumps of XGBoost don't say it; other models do",
                    0u, 1u);
  return add_input_option(command, "--ranker", ranker.model, "MODEL",
                          "Reorder the results with this learned model: a LightGBM, XGBoost or RankLib file, or one of "
                          "Quern's own descriptions");
}

void add_gpu_rerank_options(CLI::App& command, api::RankerOptions& ranker) {
  add_size_option(command, "--ranker-memory", ranker.ranker_bytes,
                  "GPU memory for models (default: an eighth); the CPU reranks with larger models");
  add_number_option(
      command, "--gpu-from", ranker.fewest_documents, "N",
      "Minimum documents that a GPU reranks together; the CPU reranks fewer (default: depends on the model's size)", 1,
      std::numeric_limits<std::size_t>::max());
  command.add_flag("--fast-math", ranker.fast_math,
                   "On a GPU, compute wide network layers with tensor cores: faster, but scores differ from the CPU's");
}

void SecondStageArguments::check(std::size_t k) const {
  if (!wanted() && is_set) throw usage_error("--rerank, --features and --features-from need --ranker");
  if (!wanted() && (ranker.ranker_bytes || ranker.fewest_documents || ranker.fast_math))
    throw usage_error("--gpu-options: ranker-memory, gpu-from and fast-math need --ranker");
  if (wanted() && rerank < k)
    throw usage_error("--rerank {0} leaves fewer results than -k {1}; use -k {0} or --rerank {1}", rerank, k);
}

void add_second_stage_options(CLI::App& command, SecondStageArguments& arguments) {
  add_ranker_options(command, arguments.ranker);
  add_number_option(command, "--rerank", arguments.rerank, "N",
                    "With --ranker: how many of the query algorithm's top documents the model scores (at least -k)", 1,
                    end_docid);
  for (const char* const option : {"--rerank", "--features", "--features-from"})
    command.get_option(option)->each([&arguments](const std::string&) { arguments.is_set = true; });
}

}  // namespace quern::tools
