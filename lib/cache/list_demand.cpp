#include "quern/cache/list_demand.hpp"

#include <algorithm>

#include "quern/core/parallel_batch.hpp"

namespace quern {
namespace {

/// Adds to `demand` what a query that came `count` times visits. In visits[b] stands, until all are added, how many
/// queries visit block b and no later one.
void add_visits(const std::vector<ListVisit>& visits, std::uint64_t count, const IndexReader& index,
                const CacheBlocks& blocks, VisitKind kind, LogDemand& demand) {
  for (std::size_t i = 0; i < visits.size(); ++i) {
    ListDemand& of_list = demand.lists[visits[i].term];
    if (of_list.queries == 0) {
      of_list.list = index.list(visits[i].term);
      of_list.visits.resize(blocks.count(of_list.list));
    }
    of_list.queries += count;
    const docid_t end = kind == VisitKind::probed && i > 0 ? visits[i - 1].end : visits[i].end;
    if (end == 0) continue;
    const std::uint64_t last = std::min(blocks.of(of_list.list, end - 1), of_list.visits.size() - 1);
    of_list.visits[last] += count;
  }
}

}  // namespace

LogDemand measure_demand(const QueryEngine& engine, const CacheBlocks& blocks, LogQueries& log,
                         const DemandOptions& options, const Resources& resources) {
  LogDemand demand;
  demand.queries = log.queries();
  std::uint64_t with_terms = 0;
  resources.progress->start("visits", demand.queries, "queries");
  demand.distinct = log.for_each([&](std::span<const LogQuery> queries) {
    const auto visit = [&](std::size_t i, std::vector<ListVisit>& visits) {
      visits = engine.visits(queries[i].terms, options.k, options.round);
    };
    answer_in_batches<std::vector<ListVisit>>(
        queries.size(), resources.threads, visit, [&](std::size_t i, const std::vector<ListVisit>& visits) {
          const std::uint64_t count = queries[i].count;
          with_terms += count;
          if (visits.empty()) {
            demand.unknown += count;
          } else if (visits.back().end == 0) {
            demand.empty += count;
          } else {
            add_visits(visits, count, engine.index(), blocks, options.kind, demand);
          }
          resources.progress->add(count);
        });
  });
  demand.unknown += demand.queries - with_terms;
  resources.progress->finish();
  if (demand.lists.empty())
    throw InvalidArgument(engine.index().name() +
                          ": no query of the log finds anything; is it the log of another index?");
  for (auto& [term, of_list] : demand.lists)
    for (std::size_t block = of_list.visits.size() - 1; block-- > 0;)
      of_list.visits[block] += of_list.visits[block + 1];
  return demand;
}

}  // namespace quern
