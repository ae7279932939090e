#include "quern/cache/log_demand.hpp"

#include <algorithm>

#include "quern/core/own_errors.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/query/index_pages.hpp"

namespace quern {
namespace {

/// Queries per call of visit().
constexpr std::size_t queries_per_visit = 4096;
/// Follows each term of a key; no term contains it.
constexpr char end_of_term = '\0';

std::vector<std::string> terms_of(std::string_view key) {
  std::vector<std::string> terms;
  while (!key.empty()) {
    const std::size_t end = key.find(end_of_term);
    terms.emplace_back(key.substr(0, end));
    key.remove_prefix(end + 1);
  }
  return terms;
}

/// Adds the visits of a query that occurs `count` times to `demand`. Until all queries are added, visits[b] is the
/// number of queries that visit block b and no later one.
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

LogQueries::LogQueries(const AnalyzerOptions& analyzer, const Resources& resources) try
    : analyzer_(analyzer),
      threads_(resources.threads),
      max_group_bytes_(resources.memory_bytes / 16),
      sorted_(resources.tmp_folder, resources.memory_bytes / 8 * 3) {
} catch (...) {
  throw_own_error();
}

void LogQueries::add(std::string_view text) {
  return with_own_errors([&] {
    const std::uint64_t place = queries_++;
    std::vector<std::string> terms = analyzer_.terms(text);
    if (terms.empty()) return;
    std::sort(terms.begin(), terms.end());
    std::string key;
    for (const std::string& term : terms) (key += term) += end_of_term;
    Bytes payload;
    put_varint(payload, place);
    on_threads(threads_, [&] { sorted_.add(key, payload); });
  });
}

std::uint64_t LogQueries::for_each(const std::function<void(std::span<const LogQuery>)>& visit) {
  return with_own_errors([&] {
    std::vector<LogQuery> group;
    std::string last;
    std::uint64_t distinct = 0, group_bytes = 0;
    const auto end_group = [&] {
      if (!group.empty()) visit(group);
      group.clear();
      group_bytes = 0;
    };
    sorted_.merge([&](std::string_view key, ByteView payload) {
      if (group_bytes > max_group_bytes_) end_group();
      const bool is_new = distinct == 0 || key != last;
      if (is_new || group.empty()) {
        LogQuery query{terms_of(key), {}};
        const std::uint64_t bytes = key.size() + query.terms.size() * (sizeof(std::string) + sizeof(ListVisit));
        if (group.size() == queries_per_visit || group_bytes + bytes > max_group_bytes_) end_group();
        group.push_back(std::move(query));
        group_bytes += bytes;
      }
      if (is_new) {
        last = key;
        ++distinct;
      }
      group.back().places.push_back(ByteReader(payload, "sorted queries").varint());
      group_bytes += 2 * sizeof(std::uint64_t);  // vectors grow by doubling
    });
    end_group();
    return distinct;
  });
}

std::uint64_t visit_log(const QueryEngine& engine, LogQueries& log, std::size_t k, std::uint64_t round,
                        const std::function<void(const LogQuery&, const std::vector<ListVisit>&)>& take,
                        const Resources& resources) {
  return run_stage(resources, [&] {
    IndexPages pages(engine.index(), resources.memory_bytes / 8);
    resources.progress->start("visits", log.queries(), "queries");
    const std::uint64_t distinct = log.for_each([&](std::span<const LogQuery> queries) {
      answer_in_batches<std::vector<ListVisit>>(
          queries.size(), resources.threads, resources.memory_bytes / 16,
          [&](std::size_t i, std::vector<ListVisit>& visits) { visits = engine.visits(queries[i].terms, k, round); },
          visit_bytes,
          [&](std::size_t i, const std::vector<ListVisit>& visits) {
            take(queries[i], visits);
            pages.note_query();
            resources.progress->add(queries[i].places.size());
          });
    });
    resources.progress->finish();
    return distinct;
  });
}

LogDemand measure_demand(const QueryEngine& engine, const CacheBlocks& blocks, LogQueries& log,
                         const DemandOptions& options, const Resources& resources) {
  return run_stage(resources, [&] {
    LogDemand demand;
    demand.queries = log.queries();
    std::uint64_t with_terms = 0;
    const auto add = [&](const LogQuery& query, const std::vector<ListVisit>& visits) {
      const std::uint64_t count = query.places.size();
      with_terms += count;
      if (visits.empty()) {
        demand.unknown += count;
      } else if (visits.back().end == 0) {
        demand.empty += count;
      } else {
        add_visits(visits, count, engine.index(), blocks, options.kind, demand);
      }
    };
    demand.distinct = visit_log(engine, log, options.k, options.round, add, resources);
    demand.unknown += demand.queries - with_terms;
    if (demand.lists.empty())
      throw InvalidArgument(engine.index().name() +
                            ": no query of the log has results; use a log of queries for this index");
    for (auto& [term, of_list] : demand.lists)
      for (std::size_t block = of_list.visits.size() - 1; block-- > 0;)
        of_list.visits[block] += of_list.visits[block + 1];
    return demand;
  });
}

}  // namespace quern
