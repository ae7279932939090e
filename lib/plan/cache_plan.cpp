#include "quern/plan/cache_plan.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "quern/io/atomic_output.hpp"
#include "quern/io/checksum.hpp"

namespace quern {
namespace {

/// A list and its number of postings.
struct LengthOfList {
  std::uint32_t length = 0;
  term_t term = 0;
};

ScoringOptions scoring_of(const PlanManifest& manifest) {
  ScoringOptions scoring;
  scoring.bm25 = manifest.bm25;
  scoring.idf = find_named(idf_names, manifest.idf, "IDF").value;
  scoring.scores = find_named(scores_names, manifest.scores, "precision of scores").value;
  scoring.alpha = manifest.alpha;
  scoring.scorer = find_named(scorer_names, manifest.scorer, "scorer").value;
  scoring.early_termination = manifest.early_termination;
  return scoring;
}

/// Calls run(LogQueries&) with all queries of a log and frees them afterwards.
template <class Run>
auto with_queries(const ReadQueries& log, QueryKind kind, const QueryEngine& engine, const Resources& resources,
                  Run&& run) {
  LogQueries queries(engine.index().manifest().analyzer, resources, kind);
  log(queries);
  return run(queries);
}

}  // namespace

void check_plan_memory(const CacheBlocks& blocks, std::uint64_t budget_bytes, const Resources& resources) {
  const std::uint64_t terms = blocks.index().manifest().terms;
  // CacheAdmission's memory; then what a policy sorts per list, and later its row in the plan and in the file's
  // sections. A list in the plan has at least one word and two block rows.
  const std::uint64_t rows = blocks.index().container().array<docid_t>("block_last").size();
  const std::uint64_t sorted = std::min(terms, rows / 2);
  const std::uint64_t lists = std::min(sorted, budget_bytes / sizeof(std::uint32_t));
  const std::uint64_t needed =
      terms * sizeof(std::uint32_t) + std::max(sorted * sizeof(LengthOfList), lists * 2 * sizeof(CachedList));
  if (needed > resources.memory_bytes / 2)
    throw InvalidArgument(
        "{}: a plan of up to {} of {} lists needs {} of memory, but only half of {} ({}) is available for "
        "plans; raise it, or lower {} or {}",
        blocks.index().name(), lists, terms, size_text(needed), option_name<"memory">,
        size_text(resources.memory_bytes), option_name<"budget">, option_name<"gpu-memory">);
}

CachePlan make_plan(const QueryEngine& engine, const CacheBlocks& blocks, const LogDemand& demand,
                    const PlanOptions& options) {
  CacheAdmission admission(blocks, options.budget_bytes, options.max_admission, options.budget_rows);
  cache_policy_named(options.policy).admit(demand, admission);
  CachePlan plan;
  plan.lists.reserve(admission.num_lists());
  blocks.for_each_list([&](const PostingList& list) {
    const auto admitted = static_cast<std::uint32_t>(admission.blocks_of(list.number));
    if (admitted > 0) plan.lists.push_back({list.number, admitted, blocks.bytes(list, admitted)});
  });
  PlanManifest& manifest = plan.manifest;
  const ScoringOptions& scoring = engine.options();
  manifest.policy = options.policy;
  manifest.budget_bytes = options.budget_bytes;
  manifest.budget_rows = options.budget_rows;
  manifest.max_admission = options.max_admission;
  manifest.count = name_of_value(visit_kinds, options.demand.kind);
  manifest.k = options.demand.k;
  manifest.alpha = scoring.alpha;
  manifest.bm25 = scoring.bm25;
  manifest.idf = name_of_value(idf_names, scoring.idf);
  manifest.scores = name_of_value(scores_names, scoring.scores);
  manifest.scorer = name_of_value(scorer_names, scoring.scorer);
  manifest.early_termination = engine.ends_early();
  manifest.round = round_of(engine.index(), options.demand.round);
  manifest.block = blocks.size();
  manifest.queries = demand.queries;
  manifest.distinct_queries = demand.distinct;
  manifest.unknown_queries = demand.unknown;
  manifest.empty_queries = demand.empty;
  manifest.log_hash = hash_text(demand.log_hash);
  manifest.index_hash = hash_text(engine.index().container().content_hash());
  manifest.index_bytes = blocks.index_bytes();
  return plan;
}

SimulatedCache simulate_plan(const CachePlan& plan, const IndexReader& index, LogQueries& log, std::uint64_t batch,
                             const Resources& resources) {
  return run_stage(resources, [&]() -> SimulatedCache {
    const PlanManifest& manifest = plan.manifest;
    const QueryEngine engine(index, scoring_of(manifest), resources.threads, memory_of_log_queries(resources));
    const CacheBlocks blocks(index, manifest.block, resources, engine.quantizer() != nullptr);
    const CacheTrace trace(engine, log, manifest.k, manifest.round, resources);
    const auto blocks_cached = [&](term_t term) { return plan.blocks_of(term); };
    return {manifest.policy,
            manifest.budget_bytes,
            manifest.cached_bytes,
            manifest.index_bytes,
            manifest.max_admission,
            manifest.k,
            trace.simulate(blocks, blocks_cached, batch)};
  });
}

std::vector<SimulatedCache> sweep_policies(const QueryEngine& engine, const CacheBlocks& blocks,
                                           const ReadQueries& train, const ReadQueries& log,
                                           const SweepOptions& options, const Resources& resources) {
  return run_stage(resources, [&] {
    const std::uint64_t index_bytes = blocks.index_bytes();
    std::vector<SimulatedCache> caches;
    for (const std::uint64_t budget_bytes : options.budgets_bytes) check_plan_memory(blocks, budget_bytes, resources);
    for (const std::size_t k : options.ks) {
      const LogDemand demand = with_queries(train, options.demand.queries, engine, resources, [&](LogQueries& queries) {
        return measure_demand(engine, blocks, queries, {k, options.demand.round, options.demand.kind}, resources);
      });
      const CacheTrace trace = with_queries(log, options.demand.queries, engine, resources, [&](LogQueries& queries) {
        return CacheTrace(engine, queries, k, options.demand.round, resources);
      });
      for (const std::string& policy : options.policies) {
        for (const std::uint64_t budget_bytes : options.budgets_bytes) {
          for (const double max_admission : options.max_admissions) {
            CacheAdmission admission(blocks, budget_bytes, max_admission);
            cache_policy_named(policy).admit(demand, admission);
            const auto blocks_cached = [&](term_t term) { return admission.blocks_of(term); };
            caches.push_back({policy, budget_bytes, admission.bytes(), index_bytes, max_admission, k,
                              trace.simulate(blocks, blocks_cached, options.batch)});
          }
        }
      }
    }
    return caches;
  });
}

Scorer default_plan_scorer(const IndexReader& index, Scores scores) {
  return !index.global_scores().empty() && scores == Scores::exact ? Scorer::bm25_pagerank : Scorer::bm25;
}

CacheBlocks cache_blocks_for(const QueryEngine& engine, std::uint64_t size, const Resources& resources) {
  const IndexReader& index = engine.index();
  return {index, size == 0 ? CacheBlocks::default_size(index) : size, resources, engine.quantizer() != nullptr};
}

LogPlanner::LogPlanner(const IndexReader& index, const ScoringOptions& scoring, std::uint64_t caching_block,
                       const Resources& resources)
    : resources_(resources),
      engine_(index, scoring, resources.threads, memory_of_log_queries(resources)),
      blocks_(cache_blocks_for(engine_, caching_block, resources)) {}

PlanManifest LogPlanner::write(const PlanOptions& options, const ReadQueries& log, const std::string& path,
                               bool overwrite) const {
  return run_stage(resources_, [&] {
    check_plan_memory(blocks_, options.budget_bytes, resources_);
    AtomicOutput out = AtomicOutput::file(path, overwrite);
    LogQueries queries(engine_.index().manifest().analyzer, resources_, options.demand.queries);
    log(queries);
    const LogDemand demand = measure_demand(engine_, blocks_, queries, options.demand, resources_);
    const CachePlan plan = make_plan(engine_, blocks_, demand, options);
    if (plan.lists.empty() && options.budget_bytes > 0 && blocks_.kept_bytes() > 0)
      throw InvalidArgument(
          "a budget of {} is too small for a single block; raise {} or {}, or give a share such as 20%",
          size_text(options.budget_bytes), option_name<"budget">, option_name<"gpu-memory">);
    write_plan(out.file(), plan);
    out.commit();
    return PlanReader::open(path).manifest();
  });
}

namespace {

/// Indices into LogDemand::lists.
using Places = std::vector<std::uint32_t>;

/// Indices of the lists that the log reads, sorted; ties by term.
template <class Before>
Places sorted_places(const LogDemand& demand, Before&& before) {
  Places places(demand.lists.size());
  std::iota(places.begin(), places.end(), 0u);
  std::sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    const ListDemand &list_a = demand.lists[a], &list_b = demand.lists[b];
    return before(list_a, list_b) || (!before(list_b, list_a) && a < b);
  });
  return places;
}

bool more_queries(const ListDemand& a, const ListDemand& b) { return a.queries > b.queries; }

/// f_t / length, compared without rounding.
bool more_queries_per_posting(const ListDemand& a, const ListDemand& b) {
  using Wide = unsigned __int128;
  return Wide{a.queries} * b.df > Wide{b.queries} * a.df;
}

/// Calls `admit` for the lists that the log does not read, in the order of terms.
template <class Admit>
void for_other_lists(const LogDemand& demand, const CacheAdmission& admission, Admit&& admit) {
  auto next = demand.lists.begin();
  admission.blocks().for_each_list([&](const PostingList& list) {
    while (next != demand.lists.end() && next->term < list.number) ++next;
    if (next == demand.lists.end() || next->term != list.number) admit(list);
  });
}

PostingList list_of(const CacheAdmission& admission, const ListDemand& demand) {
  return admission.blocks().index().list(demand.term);
}

/// Admits whole lists, in an order by demand.
template <bool (*before)(const ListDemand&, const ListDemand&)>
void admit_by(const LogDemand& demand, CacheAdmission& admission) {
  for (const std::uint32_t place : sorted_places(demand, before))
    admission.admit_whole(list_of(admission, demand.lists[place]));
  for_other_lists(demand, admission, [&](const PostingList& list) { admission.admit_whole(list); });
}

/// Consecutive blocks of a list with equally many visits. Lists are numbered by queries.
struct VisitedBlocks {
  std::uint64_t visits;
  std::uint32_t rank, blocks;
};

std::vector<VisitedBlocks> visited_blocks(const LogDemand& demand, const Places& places) {
  std::vector<VisitedBlocks> all;
  all.reserve(demand.visits.size());
  for (std::uint32_t rank = 0; rank < places.size(); ++rank) {
    const auto visits = demand.visits_of(demand.lists[places[rank]]);
    for (std::size_t block = 0; block < visits.size() && visits[block] > 0; ++block)
      if (block > 0 && visits[block] == visits[block - 1])
        ++all.back().blocks;
      else
        all.push_back({visits[block], rank, 1});
  }
  return all;
}

void admit_rest(const PostingList& list, CacheAdmission& admission) {
  while (admission.admit_next(list)) {
  }
}

/// Sorts by (visits descending, f_t descending, term, block): visits never increase along a list, so its blocks come in
/// order.
void admit_vfb(const LogDemand& demand, CacheAdmission& admission) {
  const Places places = sorted_places(demand, more_queries);
  std::vector<VisitedBlocks> visited = visited_blocks(demand, places);
  std::sort(visited.begin(), visited.end(), [](const VisitedBlocks& a, const VisitedBlocks& b) {
    return a.visits != b.visits ? a.visits > b.visits : a.rank < b.rank;
  });
  for (const VisitedBlocks& some : visited) {
    const PostingList list = list_of(admission, demand.lists[places[some.rank]]);
    for (std::uint32_t i = 0; i < some.blocks && admission.admit_next(list); ++i) {
    }
  }
  for (const std::uint32_t place : places) admit_rest(list_of(admission, demand.lists[place]), admission);
  for_other_lists(demand, admission, [&](const PostingList& list) { admit_rest(list, admission); });
}

/// Orders lists from longest to shortest, ties by term.
bool longer(const LengthOfList& a, const LengthOfList& b) {
  return a.length != b.length ? a.length > b.length : a.term < b.term;
}

/// Like Huang et al., whose memory held all such lists: ignores the log.
void admit_longer_than_block(const LogDemand&, CacheAdmission& admission) {
  std::vector<LengthOfList> lists;
  admission.blocks().for_each_list([&](const PostingList& list) {
    if (is_kept(list)) lists.push_back({static_cast<std::uint32_t>(list.df), list.number});
  });
  std::sort(lists.begin(), lists.end(), longer);
  for (const LengthOfList& list : lists) admission.admit_whole(admission.blocks().index().list(list.term));
}

constexpr CachePolicy cache_policies[] = {
    {"vfb", "blocks by the number of queries that visit them", admit_vfb},
    {"qtf", "whole lists by the number of queries with their term", admit_by<more_queries>},
    {"qtfdf", "whole lists by the number of queries with their term, per posting", admit_by<more_queries_per_posting>},
    {"longer-than-block", "whole lists of more than one block, the longest first, regardless of the log",
     admit_longer_than_block}};

}  // namespace

CacheAdmission::CacheAdmission(const CacheBlocks& blocks, std::uint64_t budget_bytes, double max_admission,
                               std::optional<std::uint64_t> budget_rows)
    : blocks_(blocks),
      budget_(budget_bytes),
      budget_rows_(budget_rows.value_or(std::numeric_limits<std::uint64_t>::max())),
      max_admission_(max_admission),
      admitted_(blocks.index().manifest().terms) {
  if (!(max_admission > 0 && max_admission <= 1))
    throw InvalidArgument("the maximum admission (lambda) must be greater than 0 and at most 1");
}

std::uint64_t CacheAdmission::admissible(const PostingList& list) const {
  if (!is_kept(list)) return 0;
  const double postings = std::floor(max_admission_ * static_cast<double>(list.df));
  if (postings >= static_cast<double>(list.df)) return blocks_.count(list);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(postings) / blocks_.size());
}

bool CacheAdmission::admit(const PostingList& list, std::uint64_t blocks) {
  const std::uint64_t bytes = blocks_.bytes(list, blocks) - blocks_.bytes(list, admitted_[list.number]);
  const bool is_new = admitted_[list.number] == 0 && blocks > 0;
  const std::uint64_t rows = is_new ? rows_kept(list) : 0;
  if (bytes > budget_ - bytes_ || rows > budget_rows_ - rows_) return false;
  bytes_ += bytes;
  rows_ += rows;
  num_lists_ += is_new;
  admitted_[list.number] = static_cast<std::uint32_t>(blocks);
  return true;
}

bool CacheAdmission::admit_next(const PostingList& list) {
  const std::uint64_t before = admitted_[list.number];
  return before < admissible(list) && admit(list, before + 1);
}

void CacheAdmission::admit_whole(const PostingList& list) { admit(list, admissible(list)); }

std::span<const CachePolicy> all_cache_policies() { return cache_policies; }

const CachePolicy& cache_policy_named(std::string_view name) {
  return find_named(all_cache_policies(), name, "cache policy");
}

}  // namespace quern
