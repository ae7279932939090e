#pragma once
#include "quern/formats/rankers/ranker_model.hpp"
#include "quern/rank/features/feature_extractor.hpp"
#include "quern/rank/models/ranker.hpp"
#include "quern/search/top_k.hpp"
#include "quern/text/analyzer.hpp"

namespace quern {

/// A model bound to Quern's features.
struct BoundModel {
  RankerModel model;                     ///< its features are only those that it uses, each once
  std::vector<std::uint32_t> selection;  ///< numbers in all_features() of the model's features
};

/// Binds the features that a model uses to Quern's. A named feature is Quern's feature of that name. A numbered one
/// refers to `list`: counted from 1, as `quern features` numbers them, or from 0, as in arrays. `features_from` is 0 or
/// 1; without it, the model's format says it, or the number of columns that it was trained with. Throws
/// InvalidArgument, with the file's name and the feature, if a feature isn't in `list`, if the model was trained with
/// another number of columns, or if nothing says what features count from.
BoundModel bind_features(RankerModel model, std::span<const std::uint32_t> list, const std::string& name,
                         std::optional<std::uint32_t> features_from = {});

/// The second stage: reorders a query's results by a learned model, over all shards of an index or the whole index.
/// Queries may have different models, which are numbered from 0. Threads may share one, each with its own Space.
class Reranker {
 public:
  /// Documents whose features are computed at a time: few enough to stay in the cache.
  static constexpr std::size_t documents_at_once = 128;

  struct NamedModel {
    BoundModel bound;
    std::string name;  ///< for messages
  };

  /// Indexes, forward files and memory must outlive the object. Throws InvalidArgument like make_ranker() and
  /// FeatureExtractor.
  Reranker(std::vector<FeatureShard> shards, std::vector<NamedModel> models,
           const FeatureMemory& memory = unlimited_feature_memory);
  Reranker(std::vector<FeatureShard> shards, BoundModel model, std::string name,
           const FeatureMemory& memory = unlimited_feature_memory);

  /// One thread's buffers.
  struct Space {
    explicit Space(const Reranker& reranker) : analyzer(reranker.extractor().make_analyzer()) {}

    Analyzer analyzer;
    FeatureExtractor::Space features;
    std::vector<FeatureCandidate> candidates;
    FeatureMatrix matrix;
    std::vector<double> scores;
  };

  /// Replaces the first-stage scores of a query's documents by the model's, as float32, and keeps the k best: by
  /// decreasing score, ties by lower docID. Throws InvalidArgument if a score is NaN, or the memory is too small for a
  /// document.
  void rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k, Space& space,
              std::uint32_t model = 0) const;

  /// The steps of rerank(), for callers that divide a query's documents among threads: the scores of some documents,
  /// which don't depend on the division, for what the extractor's queries_of() returns; and the order of all.
  void score(std::span<const FeatureQuery> queries, std::span<ScoredDocument> documents, Space& space,
             std::uint32_t model = 0) const;
  /// Sets a document's score to the model's. Throws InvalidArgument if it is NaN.
  void set_score(ScoredDocument& document, double score, std::uint32_t model = 0) const;
  static void keep_best(std::vector<ScoredDocument>& documents, std::size_t k);

  const FeatureExtractor& extractor() const { return extractor_; }
  std::size_t num_models() const { return models_.size(); }
  /// A model, which reads the extractor's columns: the features of all models.
  const RankerModel& model(std::uint32_t number = 0) const { return models_[number].model; }

 private:
  struct Model {
    RankerModel model;
    std::unique_ptr<Ranker> ranker;
    std::string name;
  };

  std::vector<Model> models_;
  FeatureExtractor extractor_;
};

}  // namespace quern
