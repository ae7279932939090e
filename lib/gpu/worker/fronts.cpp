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

// Not a tbb::task_group: oneTBB 2022.1 loses its tasks if the thread that deferred them ends
// (https://github.com/uxlfoundation/oneTBB/pull/1785).
ResumePool::~ResumePool() {
  {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  wait_for_threads();
}

void ResumePool::resume(std::span<const UnfinishedQuery> queries) {
  // Several queries at once, since handing them over takes as long as a short query.
  const auto blocks = 8 * static_cast<std::size_t>(arena_.max_concurrency());
  const std::size_t at_once = std::clamp<std::size_t>(queries.size() / blocks, 1, 16);
  for (; !queries.empty(); queries = queries.subspan(std::min(at_once, queries.size()))) {
    const auto some = queries.first(std::min(at_once, queries.size()));
    {
      const std::lock_guard lock(mutex_);
      waiting_.emplace_back(some.begin(), some.end());
    }
    add_thread();
  }
}

void ResumePool::add_thread() {
  {
    const std::lock_guard lock(mutex_);
    if (threads_ >= arena_.max_concurrency()) return;
    ++threads_;
  }
  try {
    arena_.enqueue([this] { answer_waiting(); });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --threads_;
    throw;
  }
}

void ResumePool::answer_waiting() {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    const std::vector<UnfinishedQuery> queries = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    const auto begun = WallClock::now();
    std::exception_ptr error;
    try {
      answer(queries);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) error_ = error;
    if (error) waiting_.clear();
    queries_ += queries.size();
    time_us_ += us_since(begun);
  }
  --threads_;
  ended_.notify_all();
}

void ResumePool::answer(std::span<const UnfinishedQuery> queries) {
  for (const UnfinishedQuery& query : queries)
    *query.results = engine_.resume(query.lists, k_, query.first, *query.results, nullptr, passing_);
}

void ResumePool::wait_for_threads() {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return threads_ == 0; });
}

void ResumePool::wait() {
  {
    const std::lock_guard lock(mutex_);
    ++threads_;
  }
  answer_waiting();
  wait_for_threads();
  if (error_) std::rethrow_exception(error_);
}

}  // namespace quern::gpu
