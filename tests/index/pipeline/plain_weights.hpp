#pragma once
#include <algorithm>
#include <cmath>
#include <map>

#include "quern/core/weighting_model.hpp"

#include "index/pipeline/model_index.hpp"
#include "index/pipeline/weighted_corpus.hpp"

/// The weights that an index of a weighting model stores, computed plainly from the documents' tokens.
namespace quern::testing {

/// What a formula needs: counts of a posting, of its term, and of the collection.
struct PlainCounts {
  double f, length, df, cf, documents, tokens;
};

inline double plain_weight(const Weighting& weighting, const PlainCounts& n) {
  const std::string_view model = weighting.model->name;
  const double first = weighting.values[0], second = weighting.values[1], average = n.tokens / n.documents;
  constexpr double pi = 3.14159265358979323846;
  if (model == "qld") return std::log(1 + n.f / (first * n.cf / n.tokens)) + std::log(first / (n.length + first));
  if (model == "qljm") return std::log(1 + (1 - first) * n.f / n.length / (first * n.cf / n.tokens));
  if (model == "pl2") {
    const double tfn = n.f * std::log2(1 + first * average / n.length), mean = n.cf / n.documents;
    return (tfn * std::log2(tfn / mean) + (mean - tfn) / std::log(2.0) + 0.5 * std::log2(2 * pi * tfn)) / (tfn + 1);
  }
  if (model == "dph") {
    const double rest = 1 - (n.f < n.length ? n.f / n.length : 0.99999);
    const double gain = std::log2(n.f / n.length * (n.tokens / n.cf));
    return rest * rest / (n.f + 1) * (n.f * gain + 0.5 * std::log2(2 * pi * n.f * rest));
  }
  const double saturated = n.f / (n.f + first * (1 - second + second * n.length / average));
  if (model == "tfidf") return first * saturated * std::log2(n.documents / n.df + 1);
  return (first + 1) * saturated * std::log(1 + (n.documents - n.df + 0.5) / (n.df + 0.5));
}

/// By docID: each term's weight as an integer of `bits` bits.
inline std::vector<WeightedDocument> plain_weights(const ModelIndex& model, const Weighting& weighting, unsigned bits) {
  const auto documents = static_cast<double>(model.documents().size());
  const auto tokens = static_cast<double>(model.tokens());
  const double levels = std::pow(2.0, bits) - 1;
  const double bound = weighting.model->bound(weighting.values, {model.documents().size(), model.tokens()});
  std::vector<WeightedDocument> weights(model.documents().size());
  for (const auto& [term, postings] : model.lists()) {
    double cf = 0;
    for (const ModelPosting& posting : postings) cf += posting.freq;
    for (const ModelPosting& posting : postings) {
      const auto length = static_cast<double>(model.documents()[posting.docid]->tokens.size());
      const double weight = plain_weight(weighting, {static_cast<double>(posting.freq), length,
                                                     static_cast<double>(postings.size()), cf, documents, tokens});
      weights[posting.docid][term] =
          static_cast<std::uint32_t>(std::clamp(std::floor(weight * levels / bound + 0.5), 1.0, levels));
    }
  }
  return weights;
}

/// Every model, with its usual parameters and with others.
inline std::vector<Weighting> some_weightings() {
  std::vector<Weighting> all;
  for (const char* text : {"qld", "qld:mu=3", "qljm", "qljm:lambda=0.6", "pl2", "pl2:c=7", "dph", "tfidf",
                           "tfidf:k1=0.5,b=0.2", "bm25", "bm25:k1=2,b=1"})
    all.push_back(read_weighting(text));
  return all;
}

}  // namespace quern::testing
