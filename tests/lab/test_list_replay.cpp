#include <algorithm>
#include <unordered_map>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/list_cache.hpp"
#include "quern/lab/gpu/gpu_cache_subject.hpp"
#include "quern/lab/gpu/list_cache_bench.hpp"
#include "quern/plan/cache_plan.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "search/read_queries.hpp"

/// Replays of a log through the engine's list cache, with the plans of `bench gpu-cache`.
namespace quern {
namespace {

using namespace testing;

struct ReplaySubject {
  explicit ReplaySubject(std::size_t documents = 1500) : corpus(29, {documents, 200, 60, false}) {
    for (const std::string& term : corpus.terms(60)) texts.push_back("often " + term);
    for (const std::string& text : texts) views.push_back(text);
    lists = find_log_lists(engine, read_all(engine, texts).views(), Matching::all);
    for (const auto& of_query : lists.queries) queries.push_back(&of_query);
  }

  ListCacheCase half() const {
    ListCacheCase replay_case;
    replay_case.words = coded_list_bytes(index, false) / 2 / sizeof(std::uint32_t);
    replay_case.batch = 8;
    replay_case.passes = 2;
    replay_case.flights = 2;
    return replay_case;
  }
  ListCacheFigures replay(const ListCacheCase& replay_case) const { return replay_lists(index, queries, replay_case); }

  IndexedCorpus corpus;
  IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}));
  QueryEngine engine{index, {}};
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  LogLists lists;
  std::vector<const std::vector<WeightedList>*> queries;
};

/// The bytes of a list's front in a plan; 0 if there is none.
std::uint64_t front_bytes(const CachePlan& plan, term_t term) {
  for (const CachedList& list : plan.lists)
    if (list.term == term) return list.bytes;
  return 0;
}

}  // namespace

TEST_CASE("a replay with memory for all lists copies each once", "[measure][cache]") {
  const ReplaySubject subject;
  ListCacheCase replay_case = subject.half();
  replay_case.words *= 6;
  replay_case.passes = 1;
  const ListCacheFigures cold = subject.replay(replay_case);
  CHECK(cold.queries > 50);
  CHECK(cold.batches == (cold.queries + 7) / 8);
  CHECK(cold.counts.copied_bytes > 0);
  replay_case.passes = 2;
  const ListCacheFigures warm = subject.replay(replay_case);
  CHECK(warm.queries == cold.queries);
  CHECK(warm.counts.bytes == cold.counts.bytes);
  CHECK(warm.counts.copied_bytes == 0);
  CHECK(warm.counts.resident_lists == warm.counts.lists);
}

TEST_CASE("batches in windows load everything except the plan's fronts", "[measure][cache][plan]") {
  const ReplaySubject subject(6 * gpu::range_documents);  // each may be a window
  Resources resources = subject.corpus.pipeline.resources;
  BenchPlans plans(subject.engine, subject.views, QueryKind::text, resources);
  gpu::GpuMemoryOptions memory;
  memory.list_share = 0.25;
  const CacheSetting setting{"25%", "vfb", 1, 10, 64};
  const CachePlan* plan = plans.plan(setting, memory);
  REQUIRE(plan != nullptr);
  CHECK(plans.plan(setting, memory) == plan);
  std::uint64_t fronts = 0;
  for (const CachedList& list : plan->lists) fronts += list.bytes;
  const gpu::PlanRoom room = gpu::plan_room(subject.engine, memory);
  CHECK(fronts <= room.bytes);
  CHECK(fronts > room.bytes / 2);

  ListCacheCase replay_case = subject.half();
  replay_case.words /= 2;
  replay_case.window_words = replay_case.words;
  replay_case.retention = gpu::ListRetention::none;
  replay_case.plan = plan;
  replay_case.batch = subject.queries.size();
  replay_case.by_windows = true;
  const ListCacheFigures figures = subject.replay(replay_case);
  CHECK(figures.batches == 1);
  CHECK(figures.windowed == 1);
  CHECK(figures.windows > 1);
  std::unordered_map<term_t, PostingList> needed;
  for (const auto* lists : subject.queries)
    for (const WeightedList& each : *lists)
      if (is_kept(each.list)) needed[each.list.number] = each.list;
  std::uint64_t bytes = 0, copied = 0, blocks = 0;  // the largest blocks of all lists
  for (const auto& [term, list] : needed) {
    const std::uint64_t all = list.words.size_bytes(), behind = all - front_bytes(*plan, term);
    bytes += all;
    copied += behind;
    std::uint64_t largest = 0;  // in words
    for (std::size_t i = 0; i < list.block_offset.size(); ++i) {
      const std::uint64_t end = i + 1 < list.block_offset.size() ? list.block_offset[i + 1] : list.words.size();
      largest = std::max(largest, end - list.block_offset[i]);
    }
    blocks += sizeof(std::uint32_t) * largest;
  }
  CHECK(copied < bytes);
  // Blocks at window borders are copied for both windows.
  CHECK(figures.counts.copied_bytes >= copied);
  CHECK(figures.counts.copied_bytes <= copied + (figures.windows - 1) * blocks);
  CHECK(figures.counts.bytes == std::max(bytes, figures.counts.copied_bytes));
  ListCacheCase small = subject.half();
  small.batch = replay_case.batch;
  small.by_windows = true;
  small.retention = gpu::ListRetention::none;
  small.words = bytes / sizeof(std::uint32_t) / 8;
  small.window_words = small.words;  // too small for a window of a single range
  CHECK(subject.replay(small).windowed == 0);
  small.window_words = bytes / sizeof(std::uint32_t) / 2;
  const ListCacheFigures in_windows = subject.replay(small);
  CHECK(in_windows.windowed == 1);
  CHECK(in_windows.windows > 3);
  CHECK(in_windows.window_lists == in_windows.windows * in_windows.counts.lists);
  CHECK(in_windows.counts.copied_bytes > bytes);
  // Without windows, there are more batches.
  replay_case.by_windows = false;
  CHECK(subject.replay(replay_case).batches > 1);
  // A plan's lists need no additional space.
  replay_case.by_windows = true;
  replay_case.words = bytes / sizeof(std::uint32_t) / 2 * 3;
  CHECK(subject.replay(replay_case).windowed == 0);
  replay_case.plan = nullptr;
  CHECK(subject.replay(replay_case).windowed == 1);
}

TEST_CASE("there is no plan without a policy, nor if all lists fit", "[measure][cache][plan]") {
  const ReplaySubject subject;
  Resources resources = subject.corpus.pipeline.resources;
  BenchPlans plans(subject.engine, subject.views, QueryKind::text, resources);
  gpu::GpuMemoryOptions memory;
  memory.list_share = 0.5;
  CHECK(plans.plan({"50%", std::string(no_policy), 1, 10, 64}, memory) == nullptr);
  memory.list_share = 1;
  CHECK(plans.plan({"100%", "vfb", 1, 10, 64}, memory) == nullptr);
}

TEST_CASE("queries that need no lists have none", "[measure]") {
  const ReplaySubject subject;
  const ParsedQueries read =
      read_all(subject.engine, std::vector<std::string_view>{"often zzunknown", "zzunknown", "often"});
  const LogLists all = find_log_lists(subject.engine, read.views(), Matching::all);
  CHECK(all.queries[0].empty());
  CHECK(all.queries[1].empty());
  CHECK(all.queries[2].size() == 1);
  CHECK(find_log_lists(subject.engine, read.views(), Matching::any).queries[0].size() == 1);
  CHECK(all.find_us > 0);
}

}  // namespace quern
