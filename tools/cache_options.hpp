#pragma once
#include <string>

#include "quern/cache/log_demand.hpp"

#include "command.hpp"
#include "scoring_options.hpp"

/// What plans and simulations of caches share: how queries run, and budgets.
namespace quern::tools {

struct CacheArguments {
  std::size_t k = 10;
  std::uint64_t round = 256;
  std::uint64_t block = 0;  ///< 0: the default of the index
  std::string count = "visited";
  std::string scorer;  ///< empty: bm25+pagerank where the index has global scores, else bm25
  std::optional<double> alpha;
};

/// -k, --round, --block, --count, --scorer and --alpha.
void add_cache_options(CLI::App& command, CacheArguments& arguments);

/// How queries run: by `and`, with early termination where it can be.
ScoringOptions scoring_options(const CacheArguments& arguments, const IndexReader& index);
DemandOptions demand_options(const CacheArguments& arguments);
std::uint64_t block_size(const CacheArguments& arguments, const IndexReader& index);
/// Says to people where queries can't end early, so that they visit all of their lists.
void warn_of_full_visits(const CommonOptions& common, const QueryEngine& engine);

/// A size, or a share of something as P%: anything else is a usage error.
CLI::Validator budget_validator();
/// `whole`: what 100% are.
std::uint64_t parse_budget(const std::string& text, std::uint64_t whole);

}  // namespace quern::tools
