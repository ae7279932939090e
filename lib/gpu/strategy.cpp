#include <fmt/format.h>

#include "quern/gpu/papers/ding/ding_plan.hpp"
#include "quern/gpu/range/range_batch.hpp"
#include "quern/search/hash_segments.hpp"

namespace quern::gpu {
namespace {

/// Of strategies that answer one window after another: a window's results beside those so far, the queries, and the
/// lists' views, of the batch and of two windows.
std::uint64_t query_bytes(const QueryBatch& batch, std::size_t k) {
  constexpr std::uint64_t per_query = sizeof(BatchQuery) + 4 * sizeof(std::uint64_t);
  return 2 * sizeof(std::uint64_t) * batch.queries.size() * k + per_query * batch.queries.size() +
         3 * sizeof(ListView) * batch.lists.size() + sizeof(BatchTerm) * batch.terms.size() +
         2 * sizeof(std::uint32_t) * batch.raw_docids.size();
}

/// Of `wang`: also the hash segments of the lists' rows.
std::uint64_t wang_bytes(const QueryBatch& batch, std::size_t k) {
  const std::uint64_t rows = batch.entries / batch.engine().index().block_size() + batch.lists.size();
  return query_bytes(batch, k) + RowBuckets::bytes(rows) + 4 * sizeof(std::uint64_t) * batch.lists.size();
}

/// They decode no whole lists, and their other memory does not depend on windows.
std::optional<WindowLimits> window_limits(const QueryBatch& batch, const BatchWork& /*work*/, std::uint64_t /*words*/) {
  WindowLimits limits;
  limits.entries = std::numeric_limits<std::uint64_t>::max();
  limits.ranges = num_ranges(batch.engine().index().num_documents());
  return limits;
}

/// Of `ding`: scores of a query, which are half of its batch; better of several.
BatchNeeds needs_of_scores(const IndexReader& index) {
  const std::uint64_t query = 2 * padded_leaves(index.num_documents()) * sizeof(std::int32_t);
  return {query, 8 * query};
}

/// Of strategies that keep only results beside the queries.
BatchNeeds needs_of_results(const IndexReader& /*index*/) { return {0, 16 << 20}; }

/// Of `wang`: also the hash segments of all lists.
BatchNeeds needs_of_wang(const IndexReader& index) {
  return {0, needs_of_results(index).useful + RowBuckets::bytes(index.container().array<docid_t>("block_last").size())};
}

}  // namespace

const std::vector<Strategy>& all_strategies() {
  static const std::vector<Strategy> strategies = {
      {.name = "range",
       .description = "many queries together, range by range of docIDs; each list is decoded once for all queries, and "
                      "stays decoded as long as there is memory",
       .batch_bytes = range_batch_bytes,
       .make = make_range,
       .decodes_lists = range_decodes_lists,
       .window_limits = range_window_limits,
       .filters = true},
      {.name = "ding",
       .description = "term by term, with an accumulator per document for unions; wand, bmw, maxscore and auto run as "
                      "`or` (Ding et al. 2009)",
       .batch_bytes = query_bytes,
       .make = make_ding,
       .needs = needs_of_scores,
       .window_limits = window_limits},
      {.name = "partition",
       .description = "a thread block per query, each thread with a range of documents of its own; maxscore and auto "
                      "run as `bmw` (Huang et al. 2017)",
       .batch_bytes = query_bytes,
       .make = make_partition,
       .needs = needs_of_results,
       .window_limits = window_limits,
       .reads_block_maxima = true},
      {.name = "wang",
       .description = "a thread block per query, in rounds over the shortest list until no later document can be a "
                      "result; for `and` only (Wang et al. 2017)",
       .batch_bytes = wang_bytes,
       .make = make_wang,
       .needs = needs_of_wang,
       .window_limits = window_limits,
       .reads_upper_bounds = true,
       .conjunctive_only = true},
  };
  return strategies;
}

const Strategy& strategy_named(std::string_view name) { return find_named(all_strategies(), name, "GPU strategy"); }

BatchNeeds needs_of(std::span<const Strategy* const> strategies, const IndexReader& index, std::size_t max_queries) {
  BatchNeeds all{0, 1};
  for (const Strategy* strategy : strategies) {
    const BatchNeeds needs = strategy->needs ? strategy->needs(index) : BatchNeeds();
    all.least = std::max(all.least, needs.least);
    all.useful = std::max(all.useful, needs.useful);
    if (strategy->decodes_lists != nullptr) all.decoding_queries = max_queries;
  }
  return all;
}

bool answers(const Strategy& strategy, const QueryAlgorithm& algorithm) {
  return !strategy.conjunctive_only || algorithm.matching == Matching::all;
}

void check_answers(const Strategy& strategy, std::span<const QueryAlgorithm* const> algorithms) {
  const auto answered = [&](const QueryAlgorithm* algorithm) { return answers(strategy, *algorithm); };
  if (std::none_of(algorithms.begin(), algorithms.end(), answered))
    throw InvalidArgument("the strategy {} answers `and` only; choose another strategy, or {} and", strategy.name,
                          option_name<"algorithm">);
}

void check_filters(const Strategy& strategy) {
  if (strategy.filters) return;
  std::vector<std::string_view> others;
  for (const Strategy& other : all_strategies())
    if (other.filters) others.push_back(other.name);
  throw InvalidArgument("the strategy {} does not support filters; choose {}", strategy.name,
                        fmt::join(others, " or "));
}

std::string strategies_help() {
  std::string help;
  for (const Strategy& strategy : all_strategies())
    help += fmt::format("\n  {}: {}", strategy.name, strategy.description);
  return help;
}

}  // namespace quern::gpu
