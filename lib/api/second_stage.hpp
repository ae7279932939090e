#pragma once
#include "quern/api/searcher.hpp"

namespace quern::api {

/// A feature of a document for a query: formats/features.md.
struct FeatureInfo {
  std::string name;  ///< such as "body.bm25"
  std::string kind, formula;
};

/// The features that `selection` names: "all", or names and patterns with *, separated by commas. Throws Error:
/// invalid_argument for an unknown name.
QUERN_API std::vector<FeatureInfo> features(std::string_view selection = "all");

/// Values of features: a row for each document, a column for each feature.
struct FeatureTable {
  std::size_t rows = 0, columns = 0;
  std::vector<float> values;  ///< rows * columns
};

/// Computes features from an index's forward files. A handle. Many threads may use it at once. Keeps the index open.
class QUERN_API Features {
 public:
  /// Throws Error: invalid_argument if the index has no forward file, or as features() does.
  explicit Features(const Index& index, std::string_view selection = "all");

  /// The features of a query's documents, whose scores must be those of the first stage. Throws Error: invalid_argument
  /// for a docID that the index doesn't have, corrupt_file.
  FeatureTable compute(std::string_view text, std::span<const Hit> documents) const;

 private:
  struct QUERN_INTERNAL Impl;
  std::shared_ptr<Impl> impl_;
};

/// A learned model, and how GPUs use it.
struct RankerOptions {
  std::string model;             ///< a LightGBM, XGBoost or RankLib file, or a ranker description of Quern
  std::string features = "all";  ///< the selection that it was trained with
  /// What a model without names numbers features from: 0 as arrays do, or 1 as files of features do. None: the model
  /// says it, unless it is a dump of XGBoost.
  std::optional<std::uint32_t> features_from = {};
  /// For rerank_run(): path of a file that names other models for some topics (formats/tables/topic_rankers.md); empty:
  /// none.
  std::string by_topic = {};
  // On GPUs:
  std::optional<std::uint64_t> ranker_bytes = {};  ///< memory for models; none: an eighth
  /// Minimum documents that a GPU reranks together; none: depends on the model's size.
  std::optional<std::size_t> fewest_documents = {};
  bool fast_math = false;  ///< tensor cores for wide layers; scores then differ from the CPU's
};

/// Reorders results by a learned model. A handle. Many threads may use it at once. Keeps the index open.
class QUERN_API Reranker {
 public:
  /// `placement`: where to rerank; scores are the same on all devices. Only the first GPU is used; strategy and plan
  /// are ignored. `work`: the number of threads that will rerank at the same time (they share the memory pinned for
  /// copies to a GPU, half of memory_bytes), and progress of copying documents to a GPU. Throws Error: invalid_argument
  /// if the index has no forward file or the model needs unknown features, corrupt_file and io for the model, gpu
  /// unless the device is the CPU or `automatic`.
  Reranker(const Index& index, const RankerOptions& ranker, const Placement& placement = {}, const Work& work = {});

  /// The k best of a query's documents, with the model's scores; ties in docID order. Throws Error: invalid_argument
  /// for a docID that is not in the index, gpu if a requested GPU fails.
  std::vector<Hit> rerank(std::string_view text, std::span<const Hit> documents, std::size_t k) const;
  /// Reranks the results of many queries on `work.threads` threads.
  BatchResults rerank(std::span<const std::string_view> texts, const BatchResults& results, std::size_t k,
                      const Work& work = {}) const;

 private:
  struct QUERN_INTERNAL Impl;
  std::shared_ptr<Impl> impl_;
};

/// Hands over topics: ids and texts.
using TopicLog = std::function<void(const std::function<void(std::string_view id, std::string_view text)>& take)>;

/// A run of a first stage, of any size. Files are plain or compressed; "-" is standard input.
struct FirstStage {
  std::string run;          ///< path of a TREC run
  TopicLog topics;          ///< that the run was made with
  std::string topics_name;  ///< in messages
  std::string qrels = {};   ///< path of judgements; empty: none
};

/// Takes a text step by step.
using TakeText = std::function<void(std::string_view text)>;

struct SecondStageReport {
  std::uint64_t topics = 0, documents = 0;
  double seconds = 0;   ///< for scoring, with rerank_run()
  std::string figures;  ///< likewise, as JSON: what `quern rerank --stats` writes
};

/// Writes the features of a run's documents in LETOR's format, with the judgements as labels; `json`: as a JSON object
/// per line. Throws Error: as Features does; corrupt_file for files of another format; invalid_argument if the run
/// names a document that the index lacks or a topic without text.
QUERN_API SecondStageReport write_features(const Index& index, const FirstStage& first_stage,
                                           std::string_view selection, bool json, const TakeText& write,
                                           const Work& work = {});

/// Writes a TREC run named `tag` with the k best documents of each topic by a learned model. Placement and errors: as
/// Reranker and write_features().
QUERN_API SecondStageReport rerank_run(const Index& index, const FirstStage& first_stage, const RankerOptions& ranker,
                                       std::size_t k, std::string_view tag, const Placement& placement,
                                       const TakeText& write, const Work& work = {});

}  // namespace quern::api
