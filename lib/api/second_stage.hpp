#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// Computes features from an index's forward file. A handle. Many threads may use it at once. Keeps the index open.
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

/// Reorders results by a learned model. A handle. Many threads may use it at once. Keeps the index open.
class QUERN_API Reranker {
 public:
  /// `model`: a LightGBM, XGBoost or RankLib file, or a ranker description of Quern. `selection`: the features that it
  /// was trained with. `placement`: where to rerank; scores are the same on all devices. Only the first GPU is used;
  /// strategy and plan are ignored. `work`: the number of threads that will rerank at the same time (they share the
  /// memory pinned for copies to a GPU, half of memory_bytes), and progress of copying documents to a GPU. Throws
  /// Error: invalid_argument if the index has no forward file or the model needs unknown features, corrupt_file and io
  /// for the model, gpu unless the device is the CPU or `automatic`.
  Reranker(const Index& index, const std::string& model, std::string_view selection = "all",
           const Placement& placement = {}, const Work& work = {});

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

}  // namespace quern::api
