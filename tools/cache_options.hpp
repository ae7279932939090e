#pragma once
#include <optional>
#include <string>

#include "quern/plan/log_demand.hpp"
#include "quern/plan/throughput_model.hpp"

#include "command.hpp"
#include "query_options.hpp"

/// What plans and simulations of caches share: how queries run, and budgets.
namespace quern::tools {

struct CacheArguments {
  std::size_t k = 10;
  std::uint64_t round = 256;
  std::uint64_t block = 0;  ///< 0: the default of the index
  VisitKind count = VisitKind::visited;
  Idf idf = Idf::lucene;
  Scores scores = Scores::exact;
  std::optional<Scorer> scorer;  ///< none: bm25+pagerank if the index has global scores and scores are exact, else bm25
  std::optional<double> alpha;
};

/// -k, --round, --block, --count, --idf, --scores, --scorer and --alpha.
void add_cache_options(CLI::App& command, CacheArguments& arguments);

/// Queries run with algorithm `and`, and with early termination if possible.
ScoringOptions scoring_options(const CacheArguments& arguments, const IndexReader& index);
/// `format`: of the log.
DemandOptions demand_options(const CacheArguments& arguments, QueryFormat format);
/// Warns if early termination is off, so that queries read all of their lists.
void warn_of_full_visits(const CommonOptions& common, const QueryEngine& engine);

/// --link: the speed of the link over which lists travel; `help` says what for.
void add_link_option(CLI::App& command, std::optional<TransferLink>& link, const std::string& help);

/// The number before a % sign; nothing if `text` is not a percentage, or negative.
std::optional<double> percentage(const std::string& text);
/// A size such as 64M or a share such as 10%: anything else is a usage error.
CLI::Validator budget_validator();
/// A share of a list, above 0 and at most 1: anything else is a usage error.
CLI::Validator max_admission_validator();
/// In bytes; `whole` is 100%.
std::uint64_t parse_budget(const std::string& text, std::uint64_t whole);

}  // namespace quern::tools
