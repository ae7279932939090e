#include "cache_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "quern/core/size_text.hpp"
#include "quern/plan/cache_plan.hpp"

namespace quern::tools {
std::optional<double> percentage(const std::string& text) {
  if (text.size() < 2 || text.back() != '%') return {};
  double value = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= 0) || !std::isfinite(value)) return {};
  return value;
}

void add_cache_options(CLI::App& command, CacheArguments& arguments) {
  add_number_option(command, "-k", arguments.k, "N", "Results per query", 1, end_docid);
  add_number_option(command, "--round", arguments.round, "N",
                    "Postings of a query's shortest list between two checks for early termination", 1,
                    std::uint64_t{1} << 32);
  add_number_option(command, "--block", arguments.block, "N",
                    "Postings per caching block, a multiple of the index's block size (default: 256, or the index's "
                    "block size if larger)",
                    1, std::uint64_t{1} << 32);
  add_value_option(command, "--count", arguments.count, visit_kinds,
                   with_choices("Which blocks of a list count as used:", visit_kinds));
  add_idf_and_scores_options(command, arguments.idf, arguments.scores);
  add_value_option(
      command, "--scorer", arguments.scorer, scorer_names,
      with_choices("Scoring function (default: bm25+pagerank if the index has global scores and scores are "
                   "exact, else bm25):",
                   scorer_names));
  add_alpha_option(command, arguments.alpha);
}

ScoringOptions scoring_options(const CacheArguments& arguments, const IndexReader& index) {
  ScoringArguments scoring;
  scoring.idf = arguments.idf;
  scoring.scores = arguments.scores;
  scoring.scorer = arguments.scorer.value_or(default_plan_scorer(index, arguments.scores));
  scoring.alpha = arguments.alpha;
  return scoring_options(scoring, index);
}

DemandOptions demand_options(const CacheArguments& arguments, QueryFormat format) {
  return {arguments.k, arguments.round, arguments.count, query_kind(format)};
}

void warn_of_full_visits(const CommonOptions& common, const QueryEngine& engine) {
  if (engine.ends_early()) return;
  const std::string why = engine.why_not_early().empty() ? "scores without PageRank" : engine.why_not_early();
  say(common, "quern: warning: early termination is off (" + why + "); queries read their shortest lists to the end");
}

void add_link_option(CLI::App& command, std::optional<TransferLink>& link, const std::string& help) {
  command
      .add_option_function<double>(
          "--link", [&link](double speed) { link = TransferLink{speed}; }, help)
      ->type_name("GB/s")
      ->check(range_validator(1e-3, 1e6));
}

CLI::Validator budget_validator() {
  return {[](std::string& text) -> std::string {
            if (percentage(text)) return {};
            try {
              parse_size(text);
              return {};
            } catch (const InvalidArgument&) {
              return fmt::format("'{}' is neither a size such as 64M nor a percentage such as 10%", text);
            }
          },
          ""};
}

CLI::Validator max_admission_validator() {
  return {[](std::string& text) -> std::string {
            double share = 0;
            if (read_number(text, share) && share > 0 && share <= 1) return {};
            return fmt::format("'{}' is not a number greater than 0 and at most 1", text);
          },
          ""};
}

std::uint64_t parse_budget(const std::string& text, std::uint64_t whole) {
  const auto percent = percentage(text);
  if (!percent) return parse_size(text);
  // Of a budget that is not 0, a byte is left, so that it is refused as too small and not taken for none.
  const double bytes = std::max(*percent / 100 * static_cast<double>(whole), *percent > 0 ? 1.0 : 0.0);
  return bytes >= 0x1p63 ? std::uint64_t{1} << 63 : static_cast<std::uint64_t>(bytes);
}

}  // namespace quern::tools
