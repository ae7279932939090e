#include "cache_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "quern/plan/log_demand.hpp"

namespace quern::tools {
std::optional<double> percentage(const std::string& text) {
  if (text.size() < 2 || text.back() != '%') return {};
  double value = 0;
  const char* const end = text.data() + text.size() - 1;
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !(value >= 0) || !std::isfinite(value)) return {};
  return value;
}

namespace {

/// The names of the interface's values, with the same descriptions.
constexpr NamedValue<bool> counts_probed[] = {{"visited", false, visit_kinds[0].description},
                                              {"probed", true, visit_kinds[1].description}};
constexpr NamedValue<api::Idf> api_idfs[] = {{"lucene", api::Idf::lucene}, {"robertson", api::Idf::robertson}};
constexpr NamedValue<api::Scores> api_scores[] = {{"exact", api::Scores::exact, scores_names[0].description},
                                                  {"quantized", api::Scores::quantized, scores_names[1].description}};
constexpr NamedValue<api::Scorer> api_scorers[] = {
    {"bm25", api::Scorer::bm25, scorer_names[0].description},
    {"bm25+pagerank", api::Scorer::bm25_pagerank, scorer_names[1].description}};

}  // namespace

void add_cache_options(CLI::App& command, api::PlanOptions& options) {
  add_number_option(command, "-k", options.k, "N", "Results per query", 1, end_docid);
  add_number_option(command, "--round", options.round, "N",
                    "Postings of a query's shortest list between two checks for early termination", 1,
                    std::uint64_t{1} << 32);
  add_number_option(command, "--block", options.caching_block, "N",
                    "Postings per caching block, a multiple of the index's block size (default: 256, or the index's "
                    "block size if larger)",
                    1, std::uint64_t{1} << 32);
  add_value_option(command, "--count", options.count_probed, counts_probed,
                   with_choices("Which blocks of a list count as used:", counts_probed));
  add_value_option(command, "--idf", options.idf, api_idfs, "Formula for the inverse document frequency");
  add_value_option(command, "--scores", options.scores, api_scores, with_choices("Precision of scores:", api_scores));
  add_value_option(
      command, "--scorer", options.scorer, api_scorers,
      with_choices("Scoring function (default: bm25+pagerank if the index has global scores and scores are "
                   "exact, else bm25):",
                   api_scorers));
  add_alpha_option(command, options.alpha);
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
  return percent ? api::share_of(whole, *percent / 100) : parse_size(text);
}

}  // namespace quern::tools
