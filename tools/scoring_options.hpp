#pragma once
#include <optional>
#include <string>

#include "quern/query/query_engine.hpp"

#include "command.hpp"

/// How documents are scored, for commands that answer queries.
namespace quern::tools {

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
/// What is not given is the index's: k1, b, and the alpha of its global scores. Throws CLI::ValidationError where alpha
/// is given to a scorer that has none.
ScoringOptions scoring_options(const ScoringArguments& arguments, const IndexReader& index);

}  // namespace quern::tools
