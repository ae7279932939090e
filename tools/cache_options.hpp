#pragma once
#include "quern/api/cache_plan.hpp"
#include "quern/api/internal/query_settings.hpp"
#include "quern/plan/throughput_model.hpp"

#include "command.hpp"
#include "query_options.hpp"

/// Options that plans and simulations of caches share: how queries run, and budgets.
namespace quern::tools {

/// -k, --round, --block, --count, --idf, --scores, --scorer and --alpha.
void add_cache_options(CLI::App& command, api::PlanOptions& options);

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
