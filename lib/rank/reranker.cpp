#include "quern/rank/reranker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/own_errors.hpp"

namespace quern {

Reranker::Reranker(const IndexReader& index, const ForwardReader& forward, BoundModel model, std::string name,
                   const FeatureMemory& memory, const AverageLengths* of_all) try
    : extractor_(index, forward, model.selection, memory, of_all),
      model_(std::move(model.model)),
      ranker_(make_ranker(model_)),
      name_(std::move(name)) {
} catch (...) {
  throw_own_error();
}

void Reranker::rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k,
                      Space& space) const {
  const FeatureQuery terms = query_of(query, space);
  score(terms, documents, space);
  keep_best(documents, k);
}

FeatureQuery Reranker::query_of(std::string_view query, Space& space) const {
  return with_own_errors(
      [&] { return make_feature_query(extractor_.index(), space.analyzer, query, extractor_.memory()); });
}

void Reranker::score(const FeatureQuery& query, std::span<ScoredDocument> documents, Space& space) const try {
  for (std::size_t from = 0; from < documents.size(); from += documents_at_once) {
    const std::size_t count = std::min(documents_at_once, documents.size() - from);
    space.candidates.clear();
    for (std::size_t i = 0; i < count; ++i)
      space.candidates.push_back({documents[from + i].docid, documents[from + i].score});
    space.matrix.resize(extractor_.num_features(), count);
    space.scores.resize(count);
    extractor_.extract(query, space.candidates, 0, space.matrix, space.features);
    ranker_->score(space.matrix.columns(), space.scores);
    for (std::size_t i = 0; i < count; ++i) set_score(documents[from + i], space.scores[i]);
  }
} catch (...) {
  throw_own_error();
}

void Reranker::set_score(ScoredDocument& document, double score) const {
  if (std::isnan(score))
    throw InvalidArgument(
        fmt::format("{}: the model gives docID {} a score that is not a number", name_, document.docid));
  document.score = static_cast<float>(score);
}

void Reranker::keep_best(std::vector<ScoredDocument>& documents, std::size_t k) {
  const auto is_better = [](const ScoredDocument& a, const ScoredDocument& b) {
    return a.score != b.score ? a.score > b.score : a.docid < b.docid;
  };
  if (k < documents.size()) {
    std::nth_element(documents.begin(), documents.begin() + static_cast<std::ptrdiff_t>(k), documents.end(), is_better);
    documents.resize(k);
  }
  std::sort(documents.begin(), documents.end(), is_better);
}

}  // namespace quern
