#pragma once
#include <algorithm>
#include <cmath>
#include <map>

#include "quern/core/random.hpp"
#include "quern/core/weighting_model.hpp"

#include "index/pipeline/model_index.hpp"
#include "index/pipeline/weighted_corpus.hpp"

/// The weights that an index of a weighting model stores, computed plainly from the documents' tokens.
namespace quern::testing {

/// What a formula needs: counts of a posting, of its term, and of the collection; then those in titles.
struct PlainCounts {
  double f, length, df, cf, documents, tokens;
  double title_f, title_length, title_tokens;
};

inline double plain_idf(const PlainCounts& n) { return std::log(1 + (n.documents - n.df + 0.5) / (n.df + 0.5)); }

/// BM25F's sum over title and body.
inline float plain_sum(const ModelValues& values, const PlainCounts& n) {
  const auto field = [&](double weight, double b, double f, double length, double tokens) {
    return f == 0 ? 0 : weight * f / (1 - b + b * length / (tokens / n.documents));
  };
  return static_cast<float>(
      field(values[0], values[1], n.title_f, n.title_length, n.title_tokens) +
      field(values[2], values[3], n.f - n.title_f, n.length - n.title_length, n.tokens - n.title_tokens));
}

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
  if (model == "bm25f") {
    const double sum = plain_sum(weighting.values, n), k1 = weighting.values[4];
    return (k1 + 1) * sum / (k1 + sum) * plain_idf(n);
  }
  const double saturated = n.f / (n.f + first * (1 - second + second * n.length / average));
  if (model == "tfidf") return first * saturated * std::log2(n.documents / n.df + 1);
  return (first + 1) * saturated * plain_idf(n);
}

inline std::size_t title_length(const ModelDocument& document) {
  const auto spaces = std::count(document.title.begin(), document.title.end(), ' ');
  return document.title.empty() ? 0 : static_cast<std::size_t>(spaces) + 1;
}

/// Replaces the titles by some that repeat words of the document and others, and are longer or shorter than its body.
inline void draw_titles(std::vector<ModelDocument>& documents, std::uint64_t seed) {
  RandomBits random(seed);
  for (ModelDocument& document : documents) {
    const std::vector<std::string> body(document.tokens.begin() + static_cast<std::ptrdiff_t>(title_length(document)),
                                        document.tokens.end());
    document.title.clear();
    document.tokens.clear();
    for (std::uint64_t left = random.below(random.below(4) == 0 ? 60 : 4); left > 0; --left) {
      const bool is_other = body.empty() || random.below(3) == 0;
      document.tokens.push_back(is_other ? "title" + std::to_string(random.below(5)) : body[random.below(body.size())]);
      document.title += (document.title.empty() ? "" : " ") + document.tokens.back();
    }
    document.tokens.insert(document.tokens.end(), body.begin(), body.end());
  }
}

/// By docID: each term's weight as an integer of `bits` bits.
inline std::vector<WeightedDocument> plain_weights(const ModelIndex& model, const Weighting& weighting, unsigned bits) {
  const auto documents = static_cast<double>(model.documents().size());
  const auto tokens = static_cast<double>(model.tokens());
  const double levels = std::pow(2.0, bits) - 1;
  const double bound = weighting.model->bound(weighting.values, {model.documents().size(), model.tokens()});
  double title_tokens = 0;
  for (const ModelDocument* document : model.documents()) title_tokens += static_cast<double>(title_length(*document));
  std::vector<WeightedDocument> weights(model.documents().size());
  for (const auto& [term, postings] : model.lists()) {
    double cf = 0;
    for (const ModelPosting& posting : postings) cf += posting.freq;
    for (const ModelPosting& posting : postings) {
      const ModelDocument& document = *model.documents()[posting.docid];
      const auto title_end = document.tokens.begin() + static_cast<std::ptrdiff_t>(title_length(document));
      const double weight =
          plain_weight(weighting, {static_cast<double>(posting.freq), static_cast<double>(document.tokens.size()),
                                   static_cast<double>(postings.size()), cf, documents, tokens,
                                   static_cast<double>(std::count(document.tokens.begin(), title_end, term)),
                                   static_cast<double>(title_length(document)), title_tokens});
      weights[posting.docid][term] =
          static_cast<std::uint32_t>(std::clamp(std::floor(weight * levels / bound + 0.5), 1.0, levels));
    }
  }
  return weights;
}

/// Every model, with its usual parameters and with others.
inline std::vector<Weighting> some_weightings() {
  std::vector<Weighting> all;
  for (const char* text :
       {"qld", "qld:mu=3", "qljm", "qljm:lambda=0.6", "pl2", "pl2:c=7", "dph", "tfidf", "tfidf:k1=0.5,b=0.2", "bm25",
        "bm25:k1=2,b=1", "bm25f", "bm25f:title=30,title_b=1,body_b=0,k1=8"})
    all.push_back(read_weighting(text));
  return all;
}

}  // namespace quern::testing
