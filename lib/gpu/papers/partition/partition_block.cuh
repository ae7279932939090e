#pragma once
#include "quern/gpu/papers/partition/partition_cursors.cuh"
#include "quern/gpu/worker/strategy.hpp"

/// Document-at-a-time algorithms by one thread, over documents [begin, end).
namespace quern::gpu {

/// Documents with any of the terms.
template <Coding coding, bool quantized>
__device__ inline void unite_partition(const IndexView& index, PartitionCursors<coding, quantized>& cursors,
                                       LocalTop& top, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t terms = cursors.num_terms();
  std::uint32_t docid = no_more_docids;
  for (std::uint32_t t = 0; t < terms; ++t) {
    cursors.next_geq(t, begin);
    docid = min(docid, cursors.docid(t));
  }
  while (docid < end) {
    float score = static_score_of(index, docid);
    std::uint32_t next = no_more_docids;
    for (std::uint32_t t = 0; t < terms; ++t) {
      if (cursors.docid(t) == docid) {
        score = __fadd_rn(score, cursors.term_score(t));
        cursors.next(t);
      }
      next = min(next, cursors.docid(t));
    }
    top.add(docid, score);
    docid = next;
  }
}

/// Documents with all of the terms; candidates come from the shortest list.
template <Coding coding, bool quantized>
__device__ inline void intersect_partition(const IndexView& index, PartitionCursors<coding, quantized>& cursors,
                                           LocalTop& top, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t terms = cursors.num_terms();
  cursors.next_geq(0, begin);
  for (std::uint32_t docid = cursors.docid(0); docid < end; docid = cursors.docid(0)) {
    std::uint32_t t = 1, found = docid;
    for (; t < terms; ++t) {
      cursors.next_geq(t, docid);
      found = cursors.docid(t);
      if (found != docid) break;
    }
    if (found != docid) {
      if (found >= end) return;  // the window may lack the block
      cursors.next_geq(0, found);
      continue;
    }
    float score = static_score_of(index, docid);
    for (t = 0; t < terms; ++t) score = __fadd_rn(score, cursors.term_score(t));
    top.add(docid, score);
    cursors.next(0);
  }
}

/// WAND and, with block maxima, block-max WAND by one thread, over documents [begin, end). Like lib/search/wand.cpp,
/// with upper bounds of whole lists. A list is *skipped to* a docID when its earlier postings no longer matter; its
/// cursor moves only when a term score is needed.
template <Coding coding, bool quantized>
class PartitionWand {
 public:
  using Cursors = PartitionCursors<coding, quantized>;

  /// No document's static score exceeds `max_static_score`.
  __device__ PartitionWand(const IndexView& index, Cursors& cursors, LocalTop& top, float max_static_score,
                           bool with_block_maxima)
      : index_(index),
        cursors_(cursors),
        top_(top),
        terms_(cursors.num_terms()),
        static_score_(max_static_score),
        slack_(1 + (terms_ + 1) * 0x1p-23),
        with_block_maxima_(with_block_maxima) {}

  __device__ void run(std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t t = 0; t < terms_; ++t) {
      skipped_to(t) = begin;
      order(t) = t;
      cursors_.field(CursorField::bound_row, t) = 0;
      cursors_.field(CursorField::bound_end, t) = 0;
    }
    while (find_pivot(end))
      if (!with_block_maxima_ || !skip_blocks()) score_pivot();
  }

 private:
  __device__ std::uint32_t& skipped_to(std::uint32_t t) const { return cursors_.field(CursorField::skipped_to, t); }
  __device__ std::uint32_t& order(std::uint32_t i) const { return cursors_.field(CursorField::order, i); }
  /// Documents come in docID order, so ties with the threshold lose. Upper bounds are summed in double, in any order.
  __device__ bool can_pass(double bound) const { return bound * slack_ > static_cast<double>(top_.threshold()); }

  /// Finds the first document whose lists' upper bounds together pass, and the number of lists skipped up to it.
  __device__ bool find_pivot(std::uint32_t end) {
    double bound = static_score_;
    std::uint32_t i = 0;
    for (;; ++i) {
      if (i == terms_ || skipped_to(order(i)) >= end) return false;
      bound += cursors_.term(order(i)).max_term_score;
      if (can_pass(bound)) break;
    }
    pivot_ = skipped_to(order(i));
    while (++i < terms_ && skipped_to(order(i)) == pivot_) {
    }
    count_ = i;
    return true;
  }

  /// If the blocks around the pivot's document can't contain a result, skips to the end of the one that ends first.
  __device__ bool skip_blocks() {
    double bound = static_score_;
    std::uint32_t next = count_ < terms_ ? skipped_to(order(count_)) : no_more_docids;
    for (std::uint32_t i = 0; i < count_; ++i) {
      const std::uint32_t t = order(i);
      bound += block_bound(t);
      next = min(next, cursors_.field(CursorField::bound_end, t));
    }
    if (can_pass(bound)) return false;
    next = max(next, pivot_ + 1);  // damaged rows may not rise
    for (std::uint32_t i = 0; i < count_; ++i) skipped_to(order(i)) = next;
    return true;
  }

  /// The upper bound of the list's term score of the pivot's document.
  __device__ float block_bound(std::uint32_t t) {
    std::uint32_t& end = cursors_.field(CursorField::bound_end, t);
    std::uint32_t& bound = cursors_.field(CursorField::bound, t);
    if (pivot_ < end) return __uint_as_float(bound);
    const ListView& list = cursors_.list(t);
    const BatchTerm& term = cursors_.term(t);
    float found = list.raw ? term.max_term_score : 0;
    end = no_more_docids;
    if (!list.raw) {
      std::uint32_t& row = cursors_.field(CursorField::bound_row, t);
      const std::uint32_t* last = index_.block_last + list.first_row;
      row = next_row(last, row, list.rows, pivot_);
      if (row < list.rows) {
        end = last[row] < no_more_docids ? last[row] + 1 : no_more_docids;
        found = term_score_bound(term, (index_.block_max[list.first_row + row] + 1) * 0x1p-16f);
      }
    }
    bound = __float_as_uint(found);
    return found;
  }
  /// The upper bound of term scores of impacts up to `impact`.
  __device__ static float term_score_bound(const BatchTerm& term, float impact) {
    if constexpr (!quantized) return __fmul_rn(term.weight, impact);
    return __fmul_rn(term.weight, fmaxf(1, floorf(__fadd_ru(__fmul_ru(term.impact_steps, impact), 0.5f))));
  }

  /// Scores the pivot's document in the order of summation, until the remaining terms can't lift it to the threshold.
  __device__ void score_pivot() {
    double rest = 0;
    for (std::uint32_t t = 0; t < terms_; ++t)
      if (skipped_to(t) <= pivot_) rest += bound_of(t);
    rest *= 1 + 0x1p-40;  // covers rounding errors of the subtractions
    float score = static_score_of(index_, pivot_);
    bool found = false, passes = true;
    for (std::uint32_t t = 0; t < terms_ && passes; ++t) {
      if (skipped_to(t) > pivot_) continue;
      rest -= bound_of(t);
      cursors_.next_geq(t, pivot_);
      if (cursors_.docid(t) == pivot_) {
        score = __fadd_rn(score, cursors_.term_score(t));
        found = true;
        cursors_.next(t);
      }
      skipped_to(t) = cursors_.docid(t);
      passes = can_pass(score + rest);
    }
    if (passes && found) top_.add(pivot_, score);
    for (std::uint32_t i = 0; i < count_; ++i) skipped_to(order(i)) = max(skipped_to(order(i)), pivot_ + 1);
    sort();
  }
  __device__ float bound_of(std::uint32_t t) const {
    return with_block_maxima_ ? __uint_as_float(cursors_.field(CursorField::bound, t))
                              : cursors_.term(t).max_term_score;
  }

  /// Insertion sort, since there are few lists, mostly in order.
  __device__ void sort() {
    for (std::uint32_t i = 1; i < terms_; ++i) {
      const std::uint32_t moved = order(i), docid = skipped_to(moved);
      std::uint32_t place = i;
      for (; place > 0 && skipped_to(order(place - 1)) > docid; --place) order(place) = order(place - 1);
      order(place) = moved;
    }
  }

  const IndexView& index_;
  Cursors& cursors_;
  LocalTop& top_;
  std::uint32_t terms_;
  double static_score_, slack_;
  bool with_block_maxima_;
  std::uint32_t pivot_ = 0, count_ = 0;
};

struct PartitionShared {
  std::uint32_t number;  ///< of the query
  RankKey bests[2 * max_block_threads / lanes_per_warp];
};

/// One thread block per query, one range of docIDs per thread, all of the same length (Huang et al.: GPU-Accelerated
/// Block-Max Query Processing, ICA3PP 2017, section 3.2); the threads' results are merged.
template <Coding coding, bool quantized>
class PartitionBlock {
 public:
  __device__ PartitionBlock(const IndexView& index, const BatchView& batch, const PartitionWork& work,
                            PartitionShared& shared)
      : index_(index),
        batch_(batch),
        work_(work),
        shared_(shared),
        cursors_(index, batch, work.layout, buffer()),
        top_(reinterpret_cast<RankKey*>(buffer() + work.layout.heaps_word), batch.k) {
    const std::uint32_t first_docid = batch.first_docid, end_docid = min(batch.end_docid, index.num_documents);
    const std::uint32_t size = (end_docid - first_docid - 1) / blockDim.x + 1;
    const std::uint64_t first = first_docid + std::uint64_t{size} * threadIdx.x;
    begin_ = static_cast<std::uint32_t>(min(first, std::uint64_t{end_docid}));
    end_ = static_cast<std::uint32_t>(min(first + size, std::uint64_t{end_docid}));
  }

  __device__ void run() {
    began_ = clock64();
    for_each_query(batch_, shared_.number, [&](std::uint32_t number) {
      search(number);
      __syncthreads();
      end_stage(1);
      const std::uint32_t found =
          merge_tops(top_, batch_.k, batch_.results + std::uint64_t{number} * batch_.k, shared_.bests);
      if (threadIdx.x == 0) batch_.num_results[number] = found;
      end_stage(2);
    });
  }

 private:
  /// Adds the cycles since the end of the last stage, as the first thread sees them.
  __device__ void end_stage(unsigned stage) {
    if (threadIdx.x != 0 || work_.stage_cycles == nullptr) return;
    const long long now = clock64();
    atomicAdd(work_.stage_cycles + stage, static_cast<unsigned long long>(now - began_));
    began_ = now;
  }

  __device__ std::uint32_t* buffer() const { return work_.buffer + blockIdx.x * work_.layout.words; }

  __device__ void search(std::uint32_t number) {
    const RankKey limit = batch_.limit_of(number);
    top_.clear(limit == no_key ? LocalTop::no_threshold : score_of_key(limit));
    if (limit == 0 || begin_ >= end_) return;
    cursors_.take(batch_.queries[number], work_.method == PartitionMethod::unite);
    end_stage(0);
    if (work_.method == PartitionMethod::intersect)
      intersect_partition(index_, cursors_, top_, begin_, end_);
    else if (work_.method == PartitionMethod::unite)
      unite_partition(index_, cursors_, top_, begin_, end_);
    else
      PartitionWand<coding, quantized>(index_, cursors_, top_, work_.max_static_score,
                                       work_.method == PartitionMethod::block_max_wand)
          .run(begin_, end_);
  }

  const IndexView& index_;
  const BatchView& batch_;
  const PartitionWork& work_;
  PartitionShared& shared_;
  PartitionCursors<coding, quantized> cursors_;
  LocalTop top_;
  std::uint32_t begin_ = 0, end_ = 0;  ///< the thread's range of docIDs
  long long began_ = 0;                ///< the stage
};

}  // namespace quern::gpu
