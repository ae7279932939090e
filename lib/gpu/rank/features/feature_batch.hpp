#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/gpu/rank/features/feature_view.hpp"
#include "quern/rank/features/feature_extractor.hpp"

namespace quern::gpu {

/// When a batch is full.
struct FeatureBatchLimits {
  /// Enough for all warps of a large GPU, and few enough that a thread makes the next batch soon.
  std::size_t documents = 8192;
  std::uint64_t gathered_bytes = std::uint64_t{16} << 20;  ///< of documents that travel with it
};

/// Documents of queries whose features a GPU computes together, as arrays that go to it. Host code.
class FeatureBatch {
 public:
  /// `gathers`: the GPU does not have the forward file, so that the documents' bytes come with the batch. The extractor
  /// must stay.
  FeatureBatch(const FeatureExtractor& extractor, bool gathers, const FeatureBatchLimits& limits = {});

  /// Whether a GPU computes features for a query: it must not have too many distinct terms.
  static bool takes(const FeatureQuery& query) { return query.terms.size() <= max_device_terms; }
  /// Forgets queries and documents.
  void clear();
  /// Adds a query that takes() allows, whose documents follow.
  void begin_query(const FeatureQuery& query);
  /// Adds a document of the query that was begun last. Throws InvalidArgument if the docID is not below the number of
  /// documents, CorruptFile if the forward file is damaged, GpuOutOfMemory if the document is too large for kernels.
  void add(const FeatureCandidate& candidate);
  /// Whether a GPU has enough to do: more documents would only take more memory.
  bool is_full() const;

  /// The batch without pointers.
  FeatureBatchView view() const;
  bool gathers() const { return gathers_; }

  std::vector<FeatureBatchQuery> queries;
  std::vector<FeatureTerm> terms;
  std::vector<SoughtTerm> sought;
  std::vector<std::uint8_t> texts;
  std::vector<std::uint32_t> sequence, first_follower, followers;
  std::vector<FeatureBatchDocument> documents;
  std::vector<std::uint32_t> words;  ///< of the documents, if the batch gathers them
  std::uint32_t num_tf = 0;          ///< numbers in FeatureBatchView::tf
  std::vector<FeatureSlot> slots;    ///< stay, as do the columns
  std::vector<std::int32_t> column_of;
  std::size_t num_columns = 0;

 private:
  std::uint64_t gather(ForwardReader::Range range);

  const FeatureExtractor& extractor_;
  bool gathers_;
  FeatureBatchLimits limits_;
  std::uint64_t gathered_ = 0;  ///< bytes in `words`
};

}  // namespace quern::gpu
