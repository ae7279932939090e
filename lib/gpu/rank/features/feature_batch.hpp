#pragma once
#include "quern/gpu/rank/features/feature_view.hpp"
#include "quern/rank/features/feature_extractor.hpp"

namespace quern::gpu {

/// Limits of a batch.
struct FeatureBatchLimits {
  /// Enough for all warps of a large GPU, but few enough that the next batch is made soon.
  std::size_t documents = 8192;
  std::uint64_t gathered_bytes = std::uint64_t{16} << 20;  ///< of documents that the batch carries
};

/// Documents whose features a GPU computes together, as arrays to copy to it. Host code.
class FeatureBatch {
 public:
  /// `gathers`: the batch carries the documents' bytes, since the GPU lacks them. The extractor must outlive it.
  FeatureBatch(const FeatureExtractor& extractor, bool gathers, const FeatureBatchLimits& limits = {});

  /// Whether a GPU can compute features for the query, which depends on its number of distinct terms.
  static bool takes(const FeatureQuery& query) { return query.terms.size() <= max_device_terms; }
  /// Forgets queries and documents.
  void clear();
  /// Begins a query for which takes() is true. Its documents follow, preferably shard by shard. `by_shard`: as returned
  /// by the extractor's queries_of(); it must outlive the calls of add().
  void begin_query(std::span<const FeatureQuery> by_shard) {
    begun_ = by_shard;
    shard_ = nullptr;
  }
  /// Adds a document of the last query. Throws InvalidArgument if the docID is not below the number of documents,
  /// CorruptFile if the forward file is damaged, GpuOutOfMemory if the document is too large for kernels.
  void add(const FeatureCandidate& candidate);
  /// Whether the batch is large enough for a GPU.
  bool is_full() const { return documents.size() >= limits_.documents || gathered_ >= limits_.gathered_bytes; }

  /// The batch's view, without pointers.
  FeatureBatchView view() const;
  bool gathers() const { return gathers_; }

  std::vector<FeatureBatchQuery> queries;
  std::vector<FeatureTerm> terms;
  std::vector<SoughtTerm> sought;
  std::vector<std::uint8_t> texts;
  std::vector<std::uint32_t> sequence, first_follower, followers;
  std::vector<FeatureBatchDocument> documents;
  std::vector<std::uint32_t> words;  ///< the documents' bytes, if the batch gathers them
  std::uint32_t num_tf = 0;          ///< size of FeatureBatchView::tf
  std::vector<FeatureSlot> slots;    ///< kept by clear(), like the columns
  std::vector<std::int32_t> column_of;
  std::size_t num_columns = 0;

 private:
  void add_query(const FeatureShard& shard);
  std::uint64_t gather(const ForwardReader& forward, ForwardReader::Range range);

  const FeatureExtractor& extractor_;
  std::span<const FeatureQuery> begun_;  ///< the last query
  const FeatureShard* shard_ = nullptr;  ///< of its last document; null: it has none yet
  bool gathers_;
  FeatureBatchLimits limits_;
  std::uint64_t gathered_ = 0;  ///< bytes in `words`
};

}  // namespace quern::gpu
