#include "quern/gpu/papers/ding/ding_kernels.hpp"
#include "quern/gpu/worker/strategy_run.cuh"

namespace quern::gpu {
namespace {

/// The strategy of Ding et al. It answers queries tile by tile: a union clears the accumulators and adds each term; an
/// intersection starts with the shortest list. One launch takes the results of all tiles of a pass, a query per warp.
class DingRun final : public WindowedRun {
 public:
  DingRun(const DeviceIndex& index, MemoryAccount& account)
      : WindowedRun(index, account),
        max_bytes_(account.left() / 2),
        node_blocks_(resident_blocks(make_nodes, plain_threads, 0)),
        host_queries_(index.pinned(), MemoryUse::pinned),
        queries_(account, MemoryUse::working),
        leaves_(account, MemoryUse::working),
        nodes_(account, MemoryUse::working),
        tops_(account, MemoryUse::working),
        docids_(account, MemoryUse::working) {
    const std::uint64_t one_query = padded_leaves(index.device().view.num_documents) * sizeof(std::int32_t);
    if (one_query > max_bytes_)
      throw GpuOutOfMemory("strategy ding needs " + size_text(one_query) +
                           " of GPU memory per query for scores, but may use only " + size_text(max_bytes_) +
                           " here; use another strategy");
  }

  void free_memory() override {
    WindowedRun::free_memory();
    for (DeviceArray<std::int32_t>* array : {&leaves_, &nodes_, &tops_}) array->release();
    host_queries_.release();
    queries_.release();
    docids_.release();
  }

  void add_times(const CudaEvent& started, const CudaEvent& ended, BatchTimes& times) const override {
    WindowedRun::add_times(started, ended, times);
    if (tiles_ != 1) return;  // otherwise the steps alternate
    times.unite_us = scored_.us_since(started);
    times.finish_us = ended.us_since(scored_);
  }

  void prepare(const QueryBatch& batch, const BatchWork&) override {
    host_queries_.reserve(batch.queries.size());
    queries_.reserve(batch.queries.size());
  }

 private:
  void find(const IndexView& index, const BatchView& view, const QueryBatch& batch, std::span<const ListView> lists,
            const BatchWork& work, const CudaStream& stream) override {
    const std::uint32_t documents = std::min(view.end_docid, index.num_documents) - view.first_docid;
    const std::uint64_t leaf_bytes = sizeof(std::int32_t) + (work.intersect ? sizeof(std::uint32_t) : 0);
    const PassPlan plan = plan_passes(batch, lists, work.intersect, documents, max_bytes_ / leaf_bytes);
    const DingTile all = reserve(plan, work.intersect, stream);
    tiles_ = 0;
    for (const PassPlan::Pass& pass : plan.passes) {
      const std::uint32_t end = pass.first_query + pass.num_queries;
      for (std::uint32_t first = pass.first_query; first < end; first += max_tile_queries) {
        const DingTile tile = queries_of(all, first, std::min(max_tile_queries, end - first));
        const DingQuery &first_query = plan.queries[first], &last_query = plan.queries[first + tile.num_queries - 1];
        static_assert(no_score == -1, "memset writes equal bytes");
        CUDA_CHECK(cudaMemsetAsync(
            all.leaves + first_query.first_leaf, 0xff,
            (last_query.first_leaf + padded_leaves(last_query.leaves) - first_query.first_leaf) * sizeof(std::int32_t),
            stream));
        score(index, view, tile, batch, work.intersect, stream);
        scored_.record(stream);
        ++tiles_;
        launch(make_nodes, node_blocks_, plain_threads, 0, stream, tile);
      }
      launch(take_results, pass.num_queries, plain_threads, 0, stream, view,
             queries_of(all, pass.first_query, pass.num_queries));
    }
  }

  DingTile reserve(const PassPlan& plan, bool intersect, const CudaStream& stream) {
    queries_copied_.wait();  // the previous window's copies
    std::copy(plan.queries.begin(), plan.queries.end(), host_queries_.data());
    copy_to_device(queries_.data(), host_queries_.data(), plan.queries.size(), stream);
    queries_copied_.record(stream);
    DingTile tile;
    tile.queries = queries_.data();
    tile.leaves = leaves_.reserve(plan.leaves);
    tile.nodes = nodes_.reserve(plan.nodes);
    tile.tops = tops_.reserve(plan.tops);
    if (intersect) tile.docids = docids_.reserve(plan.leaves);
    return tile;
  }

  static DingTile queries_of(DingTile tile, std::uint32_t first, std::uint32_t count) {
    tile.queries += first;
    tile.first_query = first;
    tile.num_queries = count;
    return tile;
  }

  void score(const IndexView& index, const BatchView& view, const DingTile& tile, const QueryBatch& batch,
             bool intersect, const CudaStream& stream) const {
    std::uint32_t terms = 0;
    for (std::uint32_t i = 0; i < tile.num_queries; ++i)
      terms = std::max(terms, batch.queries[tile.first_query + i].terms);
    const bool quantized = device().quantized;
    with_coding(device().coding, [&]<Coding coding>() {
      const auto run = [&](DingStep step, std::uint32_t t) {
        DingKernels<coding>::run(step, index, view, tile, t, quantized, stream);
      };
      if (intersect) run(DingStep::take_shortest, 0);
      for (std::uint32_t t = intersect ? 1 : 0; t < terms; ++t) run(intersect ? DingStep::intersect : DingStep::add, t);
    });
  }

  std::uint64_t max_bytes_;  ///< of leaves
  unsigned node_blocks_;
  PinnedArray<DingQuery> host_queries_;
  CudaEvent queries_copied_;  ///< from host_queries_
  CudaEvent scored_;          ///< the last tile
  std::uint32_t tiles_ = 0;   ///< of the batch
  DeviceArray<DingQuery> queries_;
  DeviceArray<std::int32_t> leaves_, nodes_, tops_;
  DeviceArray<std::uint32_t> docids_;
};

}  // namespace

std::unique_ptr<StrategyRun> make_ding(const DeviceIndex& index, MemoryAccount& account, const StrategyOptions&) {
  return std::make_unique<DingRun>(index, account);
}

}  // namespace quern::gpu
