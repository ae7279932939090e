#include "quern/gpu/worker/fronts.hpp"

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/worker/query_batch.hpp"

namespace quern::gpu {

bool ends_on_fronts(const GpuMemoryOptions& memory, const QueryEngine& engine) {
  if (memory.plan == nullptr) return false;
  return memory.tails == ListTails::cpu || (memory.tails == ListTails::automatic && engine.ends_early());
}

const PostingList& BatchFronts::list_to_read(const PostingList& list) {
  const std::optional<PostingList> front = cache_.front_only(list);
  if (!front) return list;
  terms_.insert(list.number);
  ++counts_.cut_lists;
  counts_.cut_bytes += sizeof(std::uint32_t) * cache_.words_behind_front(list);
  return fronts_.emplace_back(*front);
}

QueryEnd end_of_query(const QueryBatch& batch, std::size_t place, std::span<const WeightedList> lists) {
  const BatchQuery& query = batch.queries[place];
  docid_t end_of_fronts = end_docid, end_of_lists = end_docid;
  for (std::size_t t = 0; t < lists.size(); ++t) {
    const ListView& view = batch.lists[batch.terms[query.first_term + t].list];
    if (view.raw) {
      end_of_lists = std::min(end_of_lists, batch.raw_docids[view.first_word + view.df - 1]);
      continue;
    }
    const PostingList& list = lists[t].list;
    end_of_lists = std::min(end_of_lists, list.block_last.back());
    if (view.rows == list.block_last.size()) continue;
    const docid_t last = list.block_last[view.rows - 1];
    const IndexReader& index = batch.engine().index();
    if (last >= index.num_documents())
      BlockReader(index, list).fail(view.rows - 1, "the docID in the block's row is not below the number of documents");
    end_of_fronts = std::min(end_of_fronts, last);
  }
  QueryEnd end;
  end.on_front = end_of_fronts != end_docid;
  if (end_of_fronts < end_of_lists) end.from_cpu = end_of_fronts + 1;
  return end;
}

bool is_complete(const QueryEngine& engine, const QueryEnd& end, std::span<const ScoredDocument> results,
                 std::size_t k) {
  if (end.from_cpu == end_docid) return true;
  return results.size() == k && engine.scoring_context().none_above(end.from_cpu, results.back().score);
}

ResumePool::~ResumePool() {
  if (!used_) return;
  try {
    group_.cancel();
    arena_.execute([this] { group_.wait(); });
  } catch (...) {
    // Another error is already being thrown.
  }
}

void ResumePool::resume(std::span<const UnfinishedQuery> queries) {
  if (queries.empty()) return;
  used_ = true;
  // Several queries per task, since handing over a task takes as long as a short query.
  const auto tasks = 8 * static_cast<std::size_t>(arena_.max_concurrency());
  const std::size_t at_once = std::clamp<std::size_t>(queries.size() / tasks, 1, 16);
  for (; !queries.empty(); queries = queries.subspan(std::min(at_once, queries.size()))) {
    const auto some = queries.first(std::min(at_once, queries.size()));
    arena_.enqueue(group_.defer([this, queries = std::vector(some.begin(), some.end())] { answer(queries); }));
  }
}

void ResumePool::answer(std::span<const UnfinishedQuery> queries) {
  const auto begun = WallClock::now();
  for (const UnfinishedQuery& query : queries)
    *query.results = engine_.resume(query.lists, k_, query.first, *query.results, nullptr, passing_);
  const double time_us = us_since(begun);
  const std::lock_guard lock(mutex_);
  queries_ += queries.size();
  time_us_ += time_us;
}

void ResumePool::wait() {
  if (!used_) return;
  arena_.execute([this] { group_.wait(); });
}

}  // namespace quern::gpu
