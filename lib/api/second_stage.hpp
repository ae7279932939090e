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
  /// `model`: a file of LightGBM, XGBoost or RankLib, or a description of Quern's own. `selection`: the list of
  /// features that it was trained with. `placement`: where results are reranked, with the same scores; the first GPU
  /// alone, without strategy and plan. `work`: the threads that will rerank at the same time (they share what copies to
  /// a GPU pin, at most half of its memory), and progress of copying documents there. Throws Error: invalid_argument if
  /// the index has no forward file or the model asks for features that there are not, corrupt_file and io for the
  /// model, gpu unless the device is the CPU or `automatic`.
  Reranker(const Index& index, const std::string& model, std::string_view selection = "all",
           const Placement& placement = {}, const Work& work = {});

  /// The k best of a query's documents by the model, whose scores take the place of theirs; ties in docID order. Throws
  /// Error: invalid_argument for a docID that the index doesn't have, gpu if a GPU fails that was asked for.
  std::vector<Hit> rerank(std::string_view text, std::span<const Hit> documents, std::size_t k) const;
  /// The same for the results of many queries, on `work.threads` threads.
  BatchResults rerank(std::span<const std::string_view> texts, const BatchResults& results, std::size_t k,
                      const Work& work = {}) const;

 private:
  struct QUERN_INTERNAL Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace quern::api
