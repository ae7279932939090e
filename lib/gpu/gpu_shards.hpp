#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/gpu/gpu_search.hpp"
#include "quern/gpu/worker/gpu_engine.hpp"

namespace quern {

/// Finds documents on GPUs over all shards of an index, as over the whole: each shard finds its best documents, and the
/// best of these are the whole's, since shards score as it does. An index that was never cut is one shard.
class GpuShards final : public GpuSearch {
 public:
  /// `engines`, those of the shards in their order, must outlive the object. One shard is copied to all GPUs of the
  /// options. Of several, the first goes to the first GPU, the next to the one after it, and so on from the first
  /// again: each GPU has a range of documents, and decodes each list of a batch once. `memory`: of the GPUs, for each
  /// shard. Throws as GpuEngine does.
  GpuShards(std::span<const QueryEngine* const> engines, const GpuOptions& options,
            std::span<const gpu::GpuMemoryOptions> memory, Progress& progress);

  /// All shards search at the same time. and-or asks for the documents with all terms in all shards first.
  FoundDocuments search(const SearchRequest& request, std::span<GpuStatistics> counted) override;
  std::size_t shards() const override { return gpus_.size(); }
  std::uint64_t documents() const override;
  GpuEngine& engine(std::size_t shard) { return *gpus_[shard]; }
  void check_filters() const override;
  SearchDivision division() const override;
  bool lacks_lists() const override;
  std::uint64_t missing_bytes(QueryView query) override;

 private:
  /// Documents with all of a query's terms or with any of them, as the request's algorithm says.
  FoundDocuments search_all(const SearchRequest& request, std::span<GpuStatistics> counted);
  /// Of one shard, with docIDs of the whole.
  FoundDocuments search_shard(std::size_t shard, const SearchRequest& request, GpuStatistics& counted);

  const std::vector<const QueryEngine*> engines_;
  const gpu::Strategy& strategy_;
  std::vector<std::unique_ptr<GpuEngine>> gpus_;  ///< of the shards
};

}  // namespace quern
