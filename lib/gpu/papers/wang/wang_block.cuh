#pragma once
#include "quern/gpu/worker/scored_documents.cuh"
#include "quern/gpu/worker/sort_keys.cuh"

/// A thread block answers a query, in rounds over its shortest list (Wang et al.: Efficient GPU-based Query Processing
/// with Pruned List Caching in Search Engines, ICPADS 2017, Algorithm 1). In a round, each thread has one document of
/// that list. Term scores are added in the order of summation, so scores are exact.
namespace quern::gpu {

/// The shared memory of a thread block, except for the best documents.
template <int V, unsigned threads>
struct WangShared {
  WarpBuffers<V, threads> buffers;
  RankKey found[threads];         ///< the round's documents that are better than the worst result so far
  std::uint32_t docids[threads];  ///< the round's documents in all lists so far, rising, and their scores
  float scores[threads];
  std::uint32_t rows[threads];          ///< the row of the block that may contain each document, or in_list
  std::uint32_t heads[threads];         ///< the first of neighbours that share a block
  std::uint32_t first_rows[max_terms];  ///< per term, the first row that may contain documents of this or later rounds
  typename ThreadBlockScan<threads>::TempStorage scan;
  std::uint32_t number;  ///< of the query
};

/// `threads`, a multiple of 32, is the B of the paper.
template <Coding coding, int V, bool quantized, unsigned threads>
class WangBlock {
 public:
  /// `best`: sorted_space(k) keys in shared memory.
  __device__ WangBlock(const IndexView& index, const BatchView& batch, WangShared<V, threads>& shared, RankKey* best)
      : index_(index),
        batch_(batch),
        shared_(shared),
        best_(best),
        best_size_(sorted_space(batch.k)),
        scored_(index, batch, begin_decoding<coding>(shared.buffers)) {}

  __device__ void run() {
    for_each_query(batch_, shared_.number, [&](std::uint32_t number) {
      begin(number);
      if (limit_ != 0) search(batch_.queries[number]);
      write_results(number);
    });
  }

 private:
  static constexpr unsigned warps = threads / lanes_per_warp;
  static constexpr std::uint32_t in_list = 0xffffffffu;  ///< in WangShared::rows: the list contains the document

  __device__ static unsigned warp() { return threadIdx.x / lanes_per_warp; }

  __device__ void begin(std::uint32_t number) {
    const BatchQuery& query = batch_.queries[number];
    num_best_ = 0;
    limit_ = batch_.limit_of(number);
    for (std::uint32_t i = threadIdx.x; i < best_size_; i += threads) best_[i] = no_key;
    for (std::uint32_t t = threadIdx.x; t < query.terms; t += threads)
      shared_.first_rows[t] = batch_.lists[batch_.terms[query.first_term + t].list].begin_block;
    __syncthreads();
  }

  __device__ void search(const BatchQuery& query) {
    const BatchTerm& shortest = batch_.terms[query.first_term];
    std::uint32_t end = 0;
    for (std::uint64_t first = window_of(batch_.lists[shortest.list], end); first < end; first += threads) {
      take_round(shortest, static_cast<std::uint32_t>(first), end);
      if (ended()) return;
      for (std::uint32_t t = 1; t < query.terms && count_ > 0; ++t)
        look_up(batch_.terms[query.first_term + t], shared_.first_rows[t]);
      keep_best();
    }
  }

  /// The first posting of a list that may be in the window; sets `end` to the end of these.
  __device__ std::uint32_t window_of(const ListView& list, std::uint32_t& end) const {
    if (list.raw) {
      const std::uint32_t* docids = batch_.raw_docids + list.first_word;
      end = lower_bound(docids, 0, list.df, batch_.end_docid);
      return lower_bound(docids, 0, end, batch_.first_docid);
    }
    const auto first_of = [&](std::uint32_t block) {
      return static_cast<std::uint32_t>(min(std::uint64_t{block} * index_.block_size, std::uint64_t{list.df}));
    };
    end = first_of(list.rows_end());
    return first_of(list.begin_block);
  }

  /// Begins a round: the postings of the shortest list from `first` on become the documents, with their first scores.
  __device__ void take_round(const BatchTerm& term, std::uint32_t first, std::uint32_t end) {
    const ListView& list = batch_.lists[term.list];
    const std::uint32_t count = min(end - first, threads);
    const std::uint32_t per_task = list.raw ? lanes_per_warp : index_.block_size;
    shared_.rows[threadIdx.x] = 0;
    __syncthreads();
    for (std::uint32_t task = first / per_task + warp(); task <= (first + count - 1) / per_task; task += warps) {
      if (!scored_.take(term, task)) continue;
      // A block may begin before or end after the round; places before it wrap around.
      put_documents(scored_.first_place(term, task) - first, count);
    }
    keep_found(threads);
  }

  /// Stores the warp's documents, the lane's first at `place`, among the `count` of the round, and marks them as found.
  __device__ void put_documents(std::uint32_t place, std::uint32_t count) {
#pragma unroll
    for (int i = 0; i < V; ++i) {
      // Blocks at the border of two windows contain documents of both.
      if (!scored_.documents.alive(i) || place + i >= count || !batch_.has(scored_.documents.docid(i))) continue;
      shared_.docids[place + i] = scored_.documents.docid(i);
      shared_.scores[place + i] = scored_.scores[i];
      shared_.rows[place + i] = in_list;
    }
  }

  /// Keeps the documents that a list contains, and adds their term scores.
  __device__ void look_up(const BatchTerm& term, std::uint32_t& first_row) {
    const ListView& list = batch_.lists[term.list];
    if (list.raw) {
      look_up_raw(list, term.weight);
    } else {
      const std::uint32_t heads = find_heads(list, first_row);
      for (std::uint32_t head = warp(); head < heads; head += warps)
        look_up_in_block(term, shared_.heads[head], head + 1 < heads ? shared_.heads[head + 1] : count_);
    }
    keep_found(count_);
  }

  __device__ void look_up_raw(const ListView& list, float weight) {
    if (threadIdx.x >= count_) return;
    const std::uint32_t docid = shared_.docids[threadIdx.x];
    std::uint32_t value = 0;
    const bool found = find_raw_value(batch_, list, docid, value);
    shared_.rows[threadIdx.x] = found ? in_list : 0;
    if (!found) return;
    float& score = shared_.scores[threadIdx.x];
    score = __fadd_rn(score, term_score<quantized>(index_, weight, docid, value));
  }

  /// Finds the block that may contain each document, and each block's first document. Returns the number of blocks.
  __device__ std::uint32_t find_heads(const ListView& list, std::uint32_t& first_row) {
    const bool own = threadIdx.x < count_;
    std::uint32_t row = list.rows;
    if (own) {
      row = next_row(index_.block_last + list.first_row, first_row, list.rows, shared_.docids[threadIdx.x]);
      shared_.rows[threadIdx.x] = row;
    }
    __syncthreads();
    const bool begins = row < list.rows && (threadIdx.x == 0 || shared_.rows[threadIdx.x - 1] != row);
    std::uint32_t heads = 0;
    const std::uint32_t place = ThreadBlockScan<threads>(shared_.scan).exclusive_sum(begins, heads);
    if (begins) shared_.heads[place] = threadIdx.x;
    if (threadIdx.x == count_ - 1) first_row = row;
    __syncthreads();
    return heads;
  }

  /// Looks up documents [begin, end) in the block that may contain them, which is decoded once per V * 32 documents.
  /// There are hardly ever more, since the list is not shorter than the shortest one.
  __device__ void look_up_in_block(const BatchTerm& term, std::uint32_t begin, std::uint32_t end) {
    const std::uint32_t row = shared_.rows[begin];
    __syncwarp();  // all lanes have read it
    for (; begin < end; begin += V * lanes_per_warp) {
      const std::uint32_t count = min(end - begin, V * lanes_per_warp);
      scored_.take(shared_.docids + begin, shared_.scores + begin, count);
      scored_.look_up_block(term, row);
#pragma unroll
      for (int i = 0; i < V; ++i) {
        if (!scored_.documents.alive(i)) continue;
        shared_.scores[begin + lane_id() * V + i] = scored_.scores[i];
        shared_.rows[begin + lane_id() * V + i] = in_list;
      }
    }
  }

  /// Keeps the found ones of the first `count` documents, in order.
  __device__ void keep_found(std::uint32_t count) {
    __syncthreads();
    const bool found = threadIdx.x < count && shared_.rows[threadIdx.x] == in_list;
    const std::uint32_t docid = shared_.docids[threadIdx.x];
    const float score = shared_.scores[threadIdx.x];
    const std::uint32_t place = ThreadBlockScan<threads>(shared_.scan).exclusive_sum(found, count_);
    if (found) {
      shared_.docids[place] = docid;
      shared_.scores[place] = score;
    }
    __syncthreads();
  }

  /// Whether no document from the round's first on can be a result: k score at least as high, and later ones lose ties.
  __device__ bool ended() const {
    if (index_.upper_bounds == nullptr || worst() == no_key || count_ == 0) return false;
    return index_.upper_bounds[shared_.docids[0]] <= score_of_key(worst());
  }

  /// The worst key of the k best, earlier windows included; no_key if there are fewer. Results have smaller keys.
  __device__ RankKey worst() const { return min(best_[batch_.k - 1], limit_); }

  __device__ void keep_best() {
    RankKey key = no_key;
    if (threadIdx.x < count_) key = rank_key(shared_.scores[threadIdx.x], shared_.docids[threadIdx.x]);
    const bool better = key < worst();
    std::uint32_t found = 0;
    const std::uint32_t place = ThreadBlockScan<threads>(shared_.scan).exclusive_sum(better, found);
    if (found == 0) return;
    if (better) shared_.found[place] = key;
    sort_keys(shared_.found, found);
    merge_best(best_, best_size_, shared_.found, found);
    num_best_ = min(num_best_ + found, batch_.k);
  }

  __device__ void write_results(std::uint32_t number) const {
    for (std::uint32_t i = threadIdx.x; i < num_best_; i += threads)
      batch_.results[std::uint64_t{number} * batch_.k + i] = best_[i];
    if (threadIdx.x == 0) batch_.num_results[number] = num_best_;
  }

  const IndexView& index_;
  const BatchView& batch_;
  WangShared<V, threads>& shared_;
  RankKey* best_;  ///< rising; no_key after them
  std::uint32_t best_size_;
  ScoredDocuments<coding, V, quantized> scored_;
  // Equal in all threads.
  RankKey limit_ = no_key;      ///< the query's: see BatchView::limits
  std::uint32_t num_best_ = 0;  ///< at most k
  std::uint32_t count_ = 0;     ///< remaining documents of the round
};

}  // namespace quern::gpu
