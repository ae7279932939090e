#pragma once
#include "quern/gpu/papers/ding/ding_view.cuh"
#include "quern/gpu/worker/scored_documents.cuh"

/// The strategy `ding`: one term of each query of a tile (Ding et al.: Using Graphics Processors for High Performance
/// IR Query Processing, WWW 2009, sections 7 and 8). Terms are added in the order of summation, so sums have the same
/// bits as on the CPU; the docIDs of a list differ, so no two threads add to the same score.
namespace quern::gpu {

/// The list of a query's term t; null if the query has fewer terms.
__device__ inline const ListView* list_of_term(const BatchView& batch, std::uint32_t query, std::uint32_t t) {
  const BatchQuery& batch_query = batch.queries[query];
  return t < batch_query.terms ? batch.lists + batch.terms[batch_query.first_term + t].list : nullptr;
}

/// The number of a list's tasks, one per warp: its blocks in the window, or every 32 postings of a raw list.
__device__ inline std::uint32_t tasks_of(const ListView& list) {
  if (list.raw) return (list.df + lanes_per_warp - 1) / lanes_per_warp;
  return list.rows_end() - min(list.begin_block, list.rows_end());
}
/// The block of a task, or the number of its 32 raw postings.
__device__ inline std::uint32_t block_of(const ListView& list, std::uint32_t task) {
  return list.raw ? task : list.begin_block + task;
}

/// The number of tasks for term t of the tile's query with this lane's number.
__device__ inline std::uint32_t own_tasks(const BatchView& batch, const DingTile& tile, std::uint32_t t) {
  if (lane_id() >= tile.num_queries || batch.limit_of(tile.first_query + lane_id()) == 0) return 0;
  const ListView* list = list_of_term(batch, tile.first_query + lane_id(), t);
  return list == nullptr ? 0 : tasks_of(*list);
}

template <Coding coding, int V, bool quantized>
class TermAdder {
 public:
  __device__ TermAdder(const IndexView& index, const BatchView& batch, std::uint32_t* buffer)
      : index_(index), batch_(batch), decoder_(index, WarpBuffer<V>{buffer}) {}

  __device__ void add(const BatchTerm& term, std::uint32_t task, std::int32_t* accumulators) {
    const ListView& list = batch_.lists[term.list];
    if (list.raw) {
      const std::uint32_t i = task * lanes_per_warp + lane_id();
      if (i >= list.df) return;
      const std::uint32_t docid = batch_.raw_docids[list.first_word + i];
      if (!batch_.has(docid)) return;
      std::int32_t& score = accumulators[docid - batch_.first_docid];
      score = sum(score, term.weight, docid, batch_.raw_values[list.first_word + i]);
      return;
    }
    const std::uint32_t block = block_of(list, task);
    const BlockPlace place = place_of(index_, list, block);
    std::uint32_t docids[V], values[V];
    if (!read_postings<quantized, V>(index_, decoder_, list, block, place, docids, values)) return;
    std::int32_t before[V];
#pragma unroll
    for (int i = 0; i < V; ++i) {
      // A damaged row may hold any docID, and blocks at the border of two windows contain documents of both.
      if (lane_id() * V + i >= place.n || docids[i] >= index_.num_documents || !batch_.has(docids[i]))
        docids[i] = no_docid;
      before[i] = docids[i] == no_docid ? no_score : accumulators[docids[i] - batch_.first_docid];
    }
#pragma unroll
    for (int i = 0; i < V; ++i)
      if (docids[i] != no_docid)
        accumulators[docids[i] - batch_.first_docid] = sum(before[i], term.weight, docids[i], values[i]);
  }

 private:
  static constexpr std::uint32_t no_docid = 0xffffffffu;

  __device__ std::int32_t sum(std::int32_t before, float weight, std::uint32_t docid, std::uint32_t value) const {
    const float begun = before < 0 ? static_score_of(index_, docid) : __int_as_float(before);
    return __float_as_int(__fadd_rn(begun, term_score<quantized>(index_, weight, docid, value)));
  }

  const IndexView& index_;
  const BatchView& batch_;
  typename DecoderOf<coding, V>::Type decoder_;
};

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    add_term(const __grid_constant__ IndexView index, const __grid_constant__ BatchView batch,
             const __grid_constant__ DingTile tile, std::uint32_t t) {
  __shared__ WarpBuffers<V> buffers;
  TermAdder<coding, V, quantized> adder(index, batch, begin_decoding<coding>(buffers));
  for_own_tasks(own_tasks(batch, tile, t), [&](std::uint32_t i, std::uint32_t task) {
    const BatchQuery& query = batch.queries[tile.first_query + i];
    adder.add(batch.terms[query.first_term + t], task, tile.leaves + tile.queries[i].first_leaf);
  });
}

template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    take_shortest(const __grid_constant__ IndexView index, const __grid_constant__ BatchView batch,
                  const __grid_constant__ DingTile tile) {
  __shared__ WarpBuffers<V> buffers;
  ScoredDocuments<coding, V, quantized> scored(index, batch, begin_decoding<coding>(buffers));
  for_own_tasks(own_tasks(batch, tile, 0), [&](std::uint32_t i, std::uint32_t task) {
    const BatchTerm& term = batch.terms[batch.queries[tile.first_query + i].first_term];
    const ListView& list = batch.lists[term.list];
    const std::uint32_t block = block_of(list, task);
    if (!scored.take(term, block)) return;
    const std::uint64_t first =
        tile.queries[i].first_leaf + (scored.first_place(term, block) - first_leaf_of(list, index.block_size));
#pragma unroll
    for (int j = 0; j < V; ++j) {
      if (!scored.documents.alive(j) || !batch.has(scored.documents.docid(j))) continue;
      tile.docids[first + j] = scored.documents.docid(j);
      tile.leaves[first + j] = __float_as_int(scored.scores[j]);
    }
  });
}

/// A task takes consecutive leaves, of which the first and the last bound the rows to search for the others: Parallel
/// Merge Find with one level of splitters, on the blocks' maximum docIDs (sections 7.2 and 8.1). Leaves of dropped
/// documents keep their places, since skipping them costs less than compacting the rest.
template <Coding coding, int V, bool quantized>
__global__ void __launch_bounds__(plain_threads)
    intersect_term(const __grid_constant__ IndexView index, const __grid_constant__ BatchView batch,
                   const __grid_constant__ DingTile tile, std::uint32_t t) {
  __shared__ WarpBuffers<V> buffers;
  ScoredDocuments<coding, V, quantized> scored(index, batch, begin_decoding<coding>(buffers));
  std::uint32_t leaves = 0;
  if (lane_id() < tile.num_queries && list_of_term(batch, tile.first_query + lane_id(), t) != nullptr)
    leaves = tile.queries[lane_id()].leaves;
  // Large tasks decode fewer blocks; small ones keep all warps busy.
  const std::uint32_t warps = gridDim.x * (plain_threads / lanes_per_warp);
  const std::uint32_t per_lane = min(max(warp_sum(leaves / lanes_per_warp) / warps, 1u), std::uint32_t{V});
  for_own_tasks((leaves + per_lane * lanes_per_warp - 1) / (per_lane * lanes_per_warp),
                [&](std::uint32_t i, std::uint32_t task) {
                  const DingQuery& query = tile.queries[i];
                  const std::uint32_t first = task * per_lane * lanes_per_warp + lane_id();
                  std::int32_t* own_leaves = tile.leaves + query.first_leaf;
                  scored.documents.clear();
#pragma unroll
                  for (int j = 0; j < V; ++j) {
                    const std::uint32_t leaf = first + j * lanes_per_warp;
                    if (j >= per_lane || leaf >= query.leaves) continue;
                    const std::int32_t score = own_leaves[leaf];
                    if (score < 0) continue;
                    scored.scores[j] = __int_as_float(score);
                    scored.documents.put(j, tile.docids[query.first_leaf + leaf]);
                  }
                  const unsigned before = scored.documents.alive();
                  if (!scored.documents.any()) return;
                  scored.look_up(batch.terms[batch.queries[tile.first_query + i].first_term + t]);
#pragma unroll
                  for (int j = 0; j < V; ++j)
                    if (before >> j & 1)
                      own_leaves[first + j * lanes_per_warp] =
                          scored.documents.alive(j) ? __float_as_int(scored.scores[j]) : no_score;
                });
}

}  // namespace quern::gpu
