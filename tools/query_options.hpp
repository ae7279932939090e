#pragma once
#include "quern/api/index.hpp"
#include "quern/api/second_stage.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/io/file.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_stream.hpp"
#include "quern/search/query_terms.hpp"

#include "command.hpp"

/// Options for where queries come from, where their answers go, and how documents are scored.
namespace quern::tools {

struct QuerySource {
  std::string file;
  QueryLayout layout;
  std::string text;  ///< one query instead of a file
  /// Factor of query weights before they are rounded; none: weights are used as they are.
  std::optional<double> query_scale = std::nullopt;
};

/// Which queries a command takes: text; also vectors, without their weights; or with them.
enum class QueryKinds { text, text_and_terms, text_and_vectors };

/// How queries of a format are written.
constexpr QueryKind query_kind(QueryFormat format) {
  return format == QueryFormat::vector ? QueryKind::vector : QueryKind::text;
}

/// -q/--queries, --query (one of the two is required) and those of add_query_layout_options(); --query-scale if weights
/// matter.
void add_query_source_options(CLI::App& command, QuerySource& source, QueryKinds kinds = QueryKinds::text);
/// Throws a usage error if --query-scale is given and queries are not vectors.
void check_query_scale(const QuerySource& source);
/// --queries-format, --id-field and --text-field.
void add_query_layout_options(CLI::App& command, QueryLayout& layout, const std::string& help,
                              QueryKinds kinds = QueryKinds::text);
/// All queries, with remarks as QueryGroups makes them.
std::vector<Query> read_queries(const QuerySource& source, const CommonOptions& options);
/// All queries of a file, "-" for standard input, with remarks.
std::vector<Query> read_query_file(const std::string& path, const QueryLayout& layout, const CommonOptions& options);
/// Views of the queries' texts.
std::vector<std::string_view> texts_of(const std::vector<Query>& queries);

/// Says, once for each kind, which syntax of a command's queries is read as plain words.
class QueryRemarks {
 public:
  /// `format`: of the queries, perhaps `automatic`.
  QueryRemarks(const CommonOptions& options, QueryFormat format) : options_(options), format_(format) {}
  /// Ignores vectors.
  void look_at(std::string_view query);
  /// Says once which format `auto` found a file of this name to have.
  void look_at_format(const std::string& name, QueryFormat found);
  /// For commands whose results show the ids: says once if one occurs again.
  void look_at_id(std::string_view id);

 private:
  const CommonOptions& options_;
  QueryFormat format_;
  QuerySyntax reported_;
  RepeatedIds ids_;
  bool repeated_id_reported_ = false, format_reported_ = false;
};

/// A file of queries of any size. Nothing in memory grows with it: its decompressed text is in a work file if it is
/// large.
class QueryLogFile {
 public:
  /// Reads the whole file, "-" for standard input.
  QueryLogFile(const std::string& path, QueryLayout layout, const Resources& resources);

  /// Name in messages.
  const std::string& name() const { return name_; }
  /// Calls visit(id, text) for each query in the log's order, as for_each_query() does, and returns the log's format.
  /// May be called several times.
  QueryFormat for_each(const QueryVisitor& visit) const;
  /// Likewise, with remarks on texts and format.
  void for_each(QueryRemarks& remarks, const QueryVisitor& visit) const;

 private:
  std::string name_;
  QueryLayout layout_;
  WholeFile text_;
};

/// The queries of a command, in groups that fit in memory.
class QueryGroups {
 public:
  /// Reads all queries once, so that an error in the last one comes before any work, and remarks on them: which format
  /// `auto` found, what is not read as other search engines read it, and an id that occurs again.
  QueryGroups(const QuerySource& source, const CommonOptions& options, const Resources& resources);

  std::uint64_t count() const { return count_; }
  /// Calls visit(queries) for groups of all queries, in their order.
  void for_each(const std::function<void(const std::vector<Query>&)>& visit) const;

 private:
  /// Larger groups don't help.
  static constexpr std::size_t max_group = std::size_t{1} << 16;

  std::optional<QueryLogFile> file_;  ///< none: `text_` is the only query
  std::string text_;
  std::uint64_t max_group_bytes_;
  std::uint64_t count_ = 1;
};

/// Counts queries that find nothing because the index has none of their terms.
class UnknownQueries {
 public:
  /// `index` must outlive the object.
  explicit UnknownQueries(const IndexShards& index) : index_(index) {}

  /// Counts a query without results if no shard has one of its terms.
  void add(const Query& query, QueryView terms);
  /// Says how many there were, and which was the first.
  void report(const CommonOptions& options) const;

 private:
  const IndexShards& index_;
  std::uint64_t count_ = 0;
  Query first_;
};

/// Text that goes to stdout, or to a file that appears whole.
class TextOutput {
 public:
  /// An empty path: stdout.
  TextOutput(const std::string& path, bool force);
  void write(std::string_view text);
  /// Passes on what was written to stdout. A file appears whole, with finish().
  void show();
  void finish();

 private:
  std::unique_ptr<AtomicOutput> file_;
  std::optional<FileAppender> out_;
};

/// The file of --stats: opened before the work, so that a place that can't be written is known by then, and written
/// after it. It replaces an existing file.
class StatisticsFile {
 public:
  /// An empty path: none.
  explicit StatisticsFile(const std::string& path);
  explicit operator bool() const { return file_ != nullptr; }
  /// `statistics`: as JSON.
  void write(const std::string& statistics);

 private:
  std::unique_ptr<AtomicOutput> file_;
};

/// --filter.
void add_filter_option(CLI::App& command, std::optional<std::string>& filter);

/// The documents that pass a filter, which is an expression, or @FILE for a list of docnos; nothing without a filter.
/// Warns of docnos that the index lacks, and if no document passes. Takes its memory from `resources`. A list can't be
/// standard input if `queries`, the name of their file, is.
std::optional<api::Filter> open_filter(const std::optional<std::string>& filter, const std::string& queries,
                                       const api::Index& index, Resources& resources, const CommonOptions& options);

struct ScoringArguments {
  std::optional<double> k1, b, alpha;
  Idf idf = Idf::lucene;
  Scores scores = Scores::exact;
  Scorer scorer = Scorer::bm25;
  bool no_early_termination = false;
  bool names_scores = false;  ///< --scores is given
};

/// --idf
void add_idf_option(CLI::App& command, Idf& idf);
/// --idf, --scores and --scorer.
void add_score_options(CLI::App& command, ScoringArguments& arguments);
/// Those, --k1, --b, --alpha and --no-early-termination.
void add_scoring_options(CLI::App& command, ScoringArguments& arguments);
/// --alpha alone.
void add_alpha_option(CLI::App& command, std::optional<double>& alpha);
/// The default of k1, b and alpha is the index's. Throws CLI::ValidationError if alpha is given with a scorer that has
/// none, and exact scores with an index that has none.
ScoringOptions scoring_options(const ScoringArguments& arguments, const IndexReader& index);
/// Also sets how the texts of these queries are read and how their weights are scaled. Also throws what
/// check_query_scale() does.
ScoringOptions scoring_options(const ScoringArguments& arguments, const IndexReader& index, const QuerySource& queries);

/// A measure, or several at its cuts: another name is a usage error.
CLI::Validator measure_validator();
/// --relevance-level, --depth, --complete and --as: members of api::EvaluationOptions and api::TuningOptions.
template <class Options>
void add_judgement_options(CLI::App& command, Options& options) {
  add_number_option(command, "--relevance-level", options.relevance_level, "N",
                    "The lowest relevance that counts as relevant", 1, std::numeric_limits<std::int32_t>::max());
  add_number_option(command, "--depth", options.depth, "N", "Top results of each query to evaluate (default: all)", 1,
                    std::uint64_t{1} << 40);
  command.add_flag("--complete", options.complete,
                   "Count queries that have judgements but no results as 0, instead of skipping them");
  add_number_option(command, "--as", options.trec_eval, "9|10",
                    "Version of trec_eval: 9 rounds scores to float32 and recall points up", 9u, 10u);
}

/// --budget-us and --blocks-left-out.
void add_budget_options(CLI::App& command, SearchBudget& budget);
/// An algorithm with a budget, or a usage error if it can't keep to one.
QueryAlgorithm algorithm_within(const std::string& name, const SearchBudget& budget);

/// --expand.
void add_expand_option(CLI::App& command, std::string& expand);

/// --features.
void add_features_option(CLI::App& command, std::string& features, const std::string& help);
/// --ranker and --features; returns the option --ranker.
CLI::Option* add_ranker_options(CLI::App& command, api::RankerOptions& ranker);
/// --ranker-memory, --gpu-from and --fast-math.
void add_gpu_rerank_options(CLI::App& command, api::RankerOptions& ranker);

/// --ranker, --features and --rerank of a command that answers queries.
struct SecondStageArguments {
  api::RankerOptions ranker;
  std::size_t rerank = 1000;  ///< documents of a query that the model scores
  bool is_set = false;        ///< an option that needs --ranker is given

  bool wanted() const { return !ranker.model.empty(); }
  /// Throws usage errors for options that have no effect, and if fewer than k documents are to be reranked.
  void check(std::size_t k) const;
};
void add_second_stage_options(CLI::App& command, SecondStageArguments& arguments);

}  // namespace quern::tools
