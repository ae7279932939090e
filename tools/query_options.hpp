#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/queries/query_file.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/io/file.hpp"
#include "quern/io/mapped_file.hpp"
#include "quern/query/query_engine.hpp"

#include "command.hpp"

/// Where queries come from, where their answers go, and how documents are scored: for commands that answer queries.
namespace quern::tools {

struct QuerySource {
  std::string file, form = "auto";
  std::string text;  ///< one query instead of a file
};

/// -q/--queries, --query (one of the two is required) and --queries-format.
void add_query_source_options(CLI::App& command, QuerySource& source);
std::vector<Query> read_queries(const QuerySource& source);
/// All queries of a file, "-" for standard input. `form` is one of query_file_forms().
std::vector<Query> read_query_file(const std::string& path, const std::string& form = "auto");
/// What messages call a file that may be standard input.
std::string source_name(const std::string& path);

/// A log of queries of any size. Its text, decompressed, lies in a work file: what is mapped of it the system takes
/// back when it needs memory, and nothing else grows with it.
class QueryLogFile {
 public:
  /// Reads the whole file, "-" for standard input, into resources.tmp_folder. `form` is one of query_file_forms().
  QueryLogFile(const std::string& path, std::string form, const Resources& resources);

  /// What messages call the log.
  const std::string& name() const { return name_; }
  /// Calls visit(id, text) for each query in the log's order, as for_each_query() does, each time anew; gives the name
  /// of the form that the log has.
  std::string_view for_each(const QueryVisitor& visit) const;

 private:
  std::string name_, form_;
  MappedFile text_;
};

/// Text that goes to stdout, or to a file that appears whole.
class TextOutput {
 public:
  /// An empty path: stdout.
  TextOutput(const std::string& path, bool force);
  void write(std::string_view text);
  void finish();

 private:
  std::unique_ptr<AtomicOutput> file_;
  std::optional<FileAppender> out_;
};

inline constexpr const char* bm25_scorer = "bm25";
inline constexpr const char* pagerank_scorer = "bm25+pagerank";

struct ScoringArguments {
  std::optional<double> k1, b, alpha;
  std::string idf = "lucene", scores = "exact", scorer = bm25_scorer;
  bool no_early_termination = false;
};

/// --k1, --b, --idf, --scores, --scorer, --alpha and --no-early-termination.
void add_scoring_options(CLI::App& command, ScoringArguments& arguments);
/// --alpha alone.
void add_alpha_option(CLI::App& command, std::optional<double>& alpha);
/// The default of k1, b and alpha is the index's. Throws CLI::ValidationError if alpha
/// is given to a scorer that has none.
ScoringOptions scoring_options(const ScoringArguments& arguments, const IndexReader& index);

}  // namespace quern::tools
