#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/features/feature_extractor.hpp"
#include "quern/rank/models/ranker.hpp"
#include "quern/search/top_k.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// A model whose features are Quern's.
struct BoundModel {
  RankerModel model;                     ///< reads only features that it uses, each once
  std::vector<std::uint32_t> selection;  ///< numbers in all_features() of the model's features
};

/// Finds the features that a model uses. A feature with the name of one of Quern's is that; one with a number is that
/// of `list`: counted from 1, as `quern features` numbers them with the same list, or from 0 if the model was trained
/// with just as many columns as the list has features, as arrays have them. Throws InvalidArgument, with the file's
/// name and the feature, if none fits, or if the model was trained with another number of columns.
BoundModel bind_features(RankerModel model, std::span<const std::uint32_t> list, const std::string& name);

/// The second stage: reorders the results of a query by a learned model. Many threads may use it at once, each with its
/// own Space.
class Reranker {
 public:
  /// Documents whose features are in memory at a time: so many that they stay in the cache.
  static constexpr std::size_t documents_at_once = 128;

  /// Index, forward file and memory must stay. `name`: of the model, for messages. `of_all`: as FeatureExtractor has
  /// it. Throws InvalidArgument as make_ranker() and FeatureExtractor do.
  Reranker(const IndexReader& index, const ForwardReader& forward, BoundModel model, std::string name,
           const FeatureMemory& memory = unlimited_feature_memory, const AverageLengths* of_all = nullptr);

  /// What one thread needs.
  struct Space {
    explicit Space(const IndexReader& index) : analyzer(index.manifest().analyzer) {}

    Analyzer analyzer;
    FeatureExtractor::Space features;
    std::vector<FeatureCandidate> candidates;
    FeatureMatrix matrix;
    std::vector<double> scores;
  };

  /// Gives the documents of a query, whose scores are those of the first stage, the model's scores as float32, and
  /// leaves the k best: by decreasing score, ties to the lower docID. Throws InvalidArgument if a score is not a
  /// number, or the memory is too small for a document.
  void rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k, Space& space) const;

  /// The parts of rerank(), for those who divide a query's documents among threads: what the query asks for, the scores
  /// of some of the documents, which are the same however they are divided, and the order of all.
  FeatureQuery query_of(std::string_view query, Space& space) const;
  void score(const FeatureQuery& query, std::span<ScoredDocument> documents, Space& space) const;
  /// Gives a document the model's score. Throws InvalidArgument if that is not a number.
  void set_score(ScoredDocument& document, double score) const;
  static void keep_best(std::vector<ScoredDocument>& documents, std::size_t k);

  const IndexReader& index() const { return extractor_.index(); }
  const FeatureExtractor& extractor() const { return extractor_; }
  /// The model, which reads the extractor's columns.
  const RankerModel& model() const { return model_; }

 private:
  FeatureExtractor extractor_;
  RankerModel model_;
  std::unique_ptr<Ranker> ranker_;
  std::string name_;
};

}  // namespace quern
