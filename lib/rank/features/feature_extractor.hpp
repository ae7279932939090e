#pragma once
#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/features/document_hits.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// A document to compute features of.
struct FeatureCandidate {
  docid_t docid = 0;
  float first_stage_score = 0;
};

/// Feature values, stored column by column.
class FeatureMatrix {
 public:
  /// Resizes to `features` columns and `documents` rows, all 0.
  void resize(std::size_t features, std::size_t documents);
  FeatureColumns columns() const { return {values_.data(), documents_, stride_}; }
  /// The columns of the documents [from, to); `from` must be a multiple of FeatureColumns::documents_per_group.
  FeatureColumns columns(std::size_t from, std::size_t to) const { return {values_.data() + from, to - from, stride_}; }
  float* column(std::size_t feature) { return values_.data() + feature * stride_; }
  float at(std::size_t feature, std::size_t document) const { return values_[feature * stride_ + document]; }
  std::size_t documents() const { return documents_; }

 private:
  std::vector<float> values_;
  std::size_t documents_ = 0, stride_ = 0;
};

/// Mean tokens of each stream over all documents; 1 if no document has a token there.
using AverageLengths = std::array<double, num_document_streams>;

/// An index, or a shard of one, with its forward file.
struct FeatureShard {
  const IndexReader& index;
  const ForwardReader& forward;
  // Set by FeatureExtractor:
  docid_t first_docid = 0;       ///< among the documents of all shards
  std::uint64_t first_byte = 0;  ///< among the documents' bytes of all forward files
};

/// Opens the forward files of all shards. Throws like ForwardReader::open().
std::vector<ForwardReader> open_forwards(const IndexShards& shards);
/// Shards with their forward files.
std::vector<FeatureShard> feature_shards(const IndexShards& shards, std::span<const ForwardReader> forwards);

/// Computes features of an index's documents, with docIDs of the whole index. Threads may share one, each with its own
/// Space.
class FeatureExtractor {
 public:
  /// `shards`: the index, or all its shards in docID order. `selection`: numbers in all_features(), which become the
  /// columns. All that is referred to must outlive the object. Throws InvalidArgument if there is a shard, but not all.
  FeatureExtractor(std::vector<FeatureShard> shards, std::span<const std::uint32_t> selection,
                   const FeatureMemory& memory = unlimited_feature_memory);

  std::size_t num_features() const { return num_columns_; }
  std::span<const FeatureShard> shards() const { return shards_; }
  /// The shard that has a document. Throws InvalidArgument unless docID is below the number of documents.
  const FeatureShard& shard_of(docid_t docid) const;
  /// What analyzes queries.
  Analyzer make_analyzer() const { return Analyzer(shards_.front().index.manifest().analyzer); }
  /// Analyzes a query for each shard, with the counts of the whole index. Throws like make_feature_queries().
  std::vector<FeatureQuery> queries_of(std::string_view text, Analyzer& analyzer) const;
  /// The column of each of all_features(); -1: not selected.
  std::span<const std::int32_t> column_of() const { return column_of_; }
  const AverageLengths& average_lengths() const { return average_lengths_; }
  const FeatureMemory& memory() const { return *memory_; }

  /// One thread's buffers.
  struct Space {
    DocumentHits hits;
    std::vector<std::uint32_t> scratch;
  };

  /// Fills the rows [from, from + candidates.size()) of a matrix with num_features() columns. `queries`: a query as
  /// queries_of() returns it. Throws InvalidArgument if a docID is not below the number of documents or the memory is
  /// too small for a document, CorruptFile if a forward file is damaged.
  void extract(std::span<const FeatureQuery> queries, std::span<const FeatureCandidate> candidates, std::size_t from,
               FeatureMatrix& matrix, Space& space) const;
  /// Extracts the features of all of a query's candidates on the threads of the current task arena; resizes the matrix.
  void extract_all(std::span<const FeatureQuery> queries, std::span<const FeatureCandidate> candidates,
                   FeatureMatrix& matrix) const;

 private:
  DocumentView view_of(std::span<const FeatureQuery> queries, const FeatureCandidate& candidate, Space& space,
                       QueryMemory::Claim& claim) const;
  void publish(const DocumentView& document, std::size_t row, FeatureMatrix& matrix) const;

  std::vector<FeatureShard> shards_;
  const FeatureMemory* memory_;
  std::size_t num_columns_;
  std::vector<std::int32_t> column_of_;  ///< see column_of()
  std::vector<bool> family_is_used_;     ///< by family, in the order in which they publish
  AverageLengths average_lengths_{};
};

}  // namespace quern
