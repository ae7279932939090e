#pragma once
#include "quern/formats/forward_segment.hpp"
#include "quern/rank/features/feature_extractor.hpp"

/// A batch of documents whose features are computed together, and the plain arrays that kernels take. Documents are in
/// groups of 32, the lanes of a warp; an array by stream and document has `stride` elements per stream, a multiple of
/// 32.
namespace quern::gpu {

/// Maximum distinct terms of a query on a GPU: one per lane.
inline constexpr std::uint32_t max_device_terms = 32;

struct FeatureBatchQuery {
  std::uint32_t first_term = 0, num_terms = 0;  ///< in the arrays by term
  std::uint32_t first_place = 0, length = 0;    ///< in `sequence`
  std::uint32_t first_bound = 0;                ///< in `first_follower`, which has one number more than terms
  std::uint32_t first_follower = 0;             ///< in `followers`
  std::uint32_t index_terms = 0;                ///< of the index, or of the shard that has the documents
};

/// A term of a query as stored in the forward file: by number, or by text if the index has no list of it.
struct SoughtTerm {
  static constexpr std::uint32_t no_number = 0xffffffffu;

  std::uint32_t number = no_number;
  std::uint32_t text = 0, text_bytes = 0;  ///< where its text begins in `texts`
};

struct FeatureBatchDocument {
  std::uint64_t begin = 0;  ///< its first byte in `words`
  std::uint32_t bytes = 0;
  std::uint32_t query = 0;
  std::uint32_t first_tf = 0;  ///< in `tf`: num_terms of its query for each stream
  std::uint32_t out_links = 0, in_links = 0;
  float pagerank = 0, first_stage_score = 0;
};

/// The results of find_hits() for a stream of a document.
struct StreamHitsView {
  std::uint32_t length = 0, phrases = 0;
  std::uint32_t first_hit = 0, num_hits = 0;  ///< in `hits`
};

/// Numbers at the front of a document.
struct PageHead {
  std::uint64_t url_bytes = 0, url_depth = 0, links = 0;
};

/// A family whose features are computed: its number among the families of streams, followed by those of documents; its
/// stream; and its first feature in `column_of`.
struct FeatureSlot {
  std::uint8_t family = 0, stream = 0;
  std::uint16_t first_feature = 0;
};

/// Sums over all documents of a batch.
struct FeatureCounters {
  unsigned long long hits = 0;  ///< required size of `hits`
  unsigned int damaged = 0;     ///< documents
};

struct FeatureBatchView {
  // The forward files and the index.
  const std::uint32_t* words = nullptr;  ///< documents' bytes; kernels may read two words more
  double average_lengths[num_document_streams] = {};
  double k1 = 0, b = 0;
  // Queries and documents.
  const FeatureBatchQuery* queries = nullptr;
  const FeatureTerm* terms = nullptr;
  const SoughtTerm* sought = nullptr;
  const std::uint8_t* texts = nullptr;
  const std::uint32_t* sequence = nullptr;
  const std::uint32_t* first_follower = nullptr;  ///< see FeatureQueryView
  const std::uint32_t* followers = nullptr;
  const FeatureBatchDocument* documents = nullptr;
  std::uint32_t num_documents = 0, stride = 0;
  // Written by find_hits().
  StreamHitsView* streams = nullptr;  ///< by stream and document
  PageHead* heads = nullptr;          ///< by document
  std::uint32_t* tf = nullptr;
  WordHit* hits = nullptr;
  std::uint64_t hits_room = 0;
  FeatureCounters* counters = nullptr;  ///< 0 at first
  // Written by publish_features().
  const FeatureSlot* slots = nullptr;
  std::uint32_t num_slots = 0;
  const std::int32_t* column_of = nullptr;  ///< per feature; -1: not computed
  float* columns = nullptr;                 ///< by column and document
};

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
