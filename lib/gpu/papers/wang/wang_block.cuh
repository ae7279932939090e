#pragma once
#include "quern/gpu/worker/scored_documents.cuh"
#include "quern/gpu/worker/sort_keys.cuh"
#include "quern/gpu/worker/strategy.hpp"
#include "quern/search/hash_segments.hpp"

/// A thread block answers a query, in rounds over its shortest list (Wang et al.: Efficient GPU-based Query Processing
/// with Pruned List Caching in Search Engines, ICPADS 2017, Algorithm 1). In a round, each thread has one document of
/// that list. Term scores are added in the order of summation, so scores are exact.
namespace quern::gpu {

/// A list's rows in hash segments: where the directory of its buckets begins, which are 2^shift docIDs wide.
struct ListSegments {
  std::uint64_t first_start = 0;
  std::uint8_t shift = 0;
};

/// The rows of a batch's lists in hash segments (section 3.1.1).
struct BatchSegments {
  const ListSegments* lists = nullptr;  ///< as BatchView::lists; those of raw lists have no bucket
  std::uint32_t* starts = nullptr;      ///< directories of buckets: each one's first row
  std::uint64_t num_starts = 0;
};

/// Cuts the lists' rows into buckets. Returns the size of all directories.
inline std::uint64_t cut_rows(std::span<const ListView> lists, std::uint32_t num_documents,
                              std::vector<ListSegments>& segments) {
  std::uint64_t starts = 0;
  segments.clear();
  for (const ListView& list : lists) {
    const ListSegments own{starts, bucket_shift(num_documents, list.rows)};
    if (!list.raw) starts += bucket_entries(num_documents, own.shift);
    segments.push_back(own);
  }
  return starts;
}

/// Writes the directories, a thread per entry.
__device__ inline void write_starts(const IndexView& index, const BatchView& batch, const BatchSegments& segments) {
  for_own_entries(
      segments.num_starts, batch.num_lists, [&](std::uint32_t number) { return segments.lists[number].first_start; },
      [&](std::uint32_t number, std::uint64_t entry, std::uint32_t bucket) {
        const ListView& list = batch.lists[number];
        segments.starts[entry] =
            bucket_start(index.block_last + list.first_row, list.rows, segments.lists[number].shift, 0, bucket);
      });
}

/// The shared memory of a thread block.
template <int V>
struct WangShared {
  using Scan = ThreadBlockScan<max_block_threads>;

  /// `memory`: bytes() bytes. Called by all threads, which must wait for each other before the first scan.
  __device__ WangShared(RankKey* memory, std::uint32_t k)
      : best(memory),
        found(best + sorted_space(k)),
        docids(reinterpret_cast<std::uint32_t*>(found + sorted_space(blockDim.x))),
        scores(reinterpret_cast<float*>(docids + blockDim.x)),
        rows(docids + 2 * blockDim.x),
        heads(docids + 3 * blockDim.x),
        buffers(docids + 4 * blockDim.x),
        number(buffers[buffer_words(blockDim.x)]),
        scan(reinterpret_cast<Scan::TempStorage&>((&number)[1])) {
    // Scans also read the sums of warps that the block does not have.
    if (threadIdx.x < Scan::warps) scan.sums[threadIdx.x] = 0;
  }
  static constexpr std::uint32_t buffer_words(unsigned threads) {
    return threads / lanes_per_warp * WarpBuffer<V>::size;
  }
  static constexpr std::size_t bytes(std::uint32_t k, unsigned threads) {
    return (sorted_space(k) + sorted_space(threads)) * sizeof(RankKey) +
           (4 * threads + buffer_words(threads) + 1) * sizeof(std::uint32_t) + sizeof(Scan::TempStorage);
  }
  /// The warp's buffer.
  __device__ std::uint32_t* own() const { return buffers + buffer_words(threadIdx.x); }

  RankKey* best;          ///< the query's best documents so far, rising; no_key after them
  RankKey* found;         ///< the round's documents that are better than the worst result so far
  std::uint32_t* docids;  ///< the round's documents in all lists so far, rising, and their scores
  float* scores;
  std::uint32_t* rows;   ///< the row of the block that may contain each document, or in_list
  std::uint32_t* heads;  ///< the first of neighbours that share a block
  std::uint32_t* buffers;
  std::uint32_t& number;  ///< of the query
  Scan::TempStorage& scan;
};

/// The number of threads is the B of the paper: see StrategyOptions::round.
template <Coding coding, int V, bool quantized>
class WangBlock {
 public:
  __device__ WangBlock(const IndexView& index, const BatchView& batch, const BatchSegments& segments,
                       const WangShared<V>& shared)
      : index_(index),
        batch_(batch),
        segments_(segments),
        shared_(shared),
        best_size_(sorted_space(batch.k)),
        scored_(index, batch, begin_decoding<coding>(shared)) {}

  __device__ void run() {
    for_each_query(batch_, shared_.number, [&](std::uint32_t number) {
      begin(number);
      if (limit_ != 0) search(batch_.queries[number]);
      write_results(number);
    });
  }

 private:
  using Scan = typename WangShared<V>::Scan;
  static constexpr std::uint32_t in_list = 0xffffffffu;  ///< in WangShared::rows: the list contains the document

  __device__ static unsigned warp() { return threadIdx.x / lanes_per_warp; }
  __device__ static unsigned warps() { return blockDim.x / lanes_per_warp; }

  __device__ void begin(std::uint32_t number) {
    num_best_ = 0;
    limit_ = batch_.limit_of(number);
    for (std::uint32_t i = threadIdx.x; i < best_size_; i += blockDim.x) shared_.best[i] = no_key;
    __syncthreads();
  }

  __device__ void search(const BatchQuery& query) {
    const BatchTerm& shortest = batch_.terms[query.first_term];
    std::uint32_t end = 0;
    for (std::uint64_t first = window_of(batch_.lists[shortest.list], end); first < end; first += blockDim.x) {
      take_round(shortest, static_cast<std::uint32_t>(first), end);
      if (ended()) return;
      for (std::uint32_t t = 1; t < query.terms && count_ > 0; ++t) look_up(batch_.terms[query.first_term + t]);
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
    const std::uint32_t count = min(end - first, blockDim.x);
    const std::uint32_t per_task = list.raw ? lanes_per_warp : index_.block_size;
    shared_.rows[threadIdx.x] = 0;
    __syncthreads();
    for (std::uint32_t task = first / per_task + warp(); task <= (first + count - 1) / per_task; task += warps()) {
      if (!scored_.take(term, task)) continue;
      // A block may begin before or end after the round; places before it wrap around.
      put_documents(scored_.first_place(term, task) - first, count);
    }
    keep_found(blockDim.x);
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
  __device__ void look_up(const BatchTerm& term) {
    const ListView& list = batch_.lists[term.list];
    if (list.raw) {
      look_up_raw(list, term.weight);
    } else {
      const std::uint32_t heads = find_heads(list, segments_.lists[term.list]);
      for (std::uint32_t head = warp(); head < heads; head += warps())
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
  __device__ std::uint32_t find_heads(const ListView& list, const ListSegments& segments) {
    std::uint32_t row = list.rows;
    if (threadIdx.x < count_) shared_.rows[threadIdx.x] = row = row_of(list, segments, shared_.docids[threadIdx.x]);
    __syncthreads();
    const bool begins = row < list.rows && (threadIdx.x == 0 || shared_.rows[threadIdx.x - 1] != row);
    std::uint32_t heads = 0;
    const std::uint32_t place = Scan(shared_.scan).exclusive_sum(begins, heads);
    if (begins) shared_.heads[place] = threadIdx.x;
    __syncthreads();
    return heads;
  }

  /// The row of the block that may contain a document, searched for in one bucket; list.rows or more if there is none.
  __device__ std::uint32_t row_of(const ListView& list, const ListSegments& segments, std::uint32_t docid) const {
    const std::uint32_t* start = segments_.starts + segments.first_start + (docid >> segments.shift);
    // Damaged rows must not lead to blocks before the window's.
    return lower_bound(index_.block_last + list.first_row, max(start[0], list.begin_block), start[1], docid);
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
    const std::uint32_t place = Scan(shared_.scan).exclusive_sum(found, count_);
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
  __device__ RankKey worst() const { return min(shared_.best[batch_.k - 1], limit_); }

  __device__ void keep_best() {
    RankKey key = no_key;
    if (threadIdx.x < count_) key = rank_key(shared_.scores[threadIdx.x], shared_.docids[threadIdx.x]);
    const bool better = key < worst();
    std::uint32_t found = 0;
    const std::uint32_t place = Scan(shared_.scan).exclusive_sum(better, found);
    if (found == 0) return;
    if (better) shared_.found[place] = key;
    sort_keys(shared_.found, found);
    merge_best(shared_.best, best_size_, shared_.found, found);
    num_best_ = min(num_best_ + found, batch_.k);
  }

  __device__ void write_results(std::uint32_t number) const {
    for (std::uint32_t i = threadIdx.x; i < num_best_; i += blockDim.x)
      batch_.results[std::uint64_t{number} * batch_.k + i] = shared_.best[i];
    if (threadIdx.x == 0) batch_.num_results[number] = num_best_;
  }

  const IndexView& index_;
  const BatchView& batch_;
  const BatchSegments& segments_;
  const WangShared<V>& shared_;
  std::uint32_t best_size_;
  ScoredDocuments<coding, V, quantized> scored_;
  // Equal in all threads.
  RankKey limit_ = no_key;      ///< the query's: see BatchView::limits
  std::uint32_t num_best_ = 0;  ///< at most k
  std::uint32_t count_ = 0;     ///< remaining documents of the round
};

}  // namespace quern::gpu
