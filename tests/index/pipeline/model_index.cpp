#include "index/pipeline/model_index.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace quern::testing {

ModelIndex::ModelIndex(const std::vector<ModelDocument>& documents, std::span<const docid_t> order) {
  for (const docid_t document : order) documents_.push_back(&documents.at(document));
  for (docid_t docid = 0; docid < documents_.size(); ++docid) {
    std::map<std::string, freq_t> freqs;
    for (const std::string& token : documents_[docid]->tokens) ++freqs[token];
    for (const auto& [term, freq] : freqs) lists_[term].push_back({docid, freq});
    tokens_ += documents_[docid]->tokens.size();
    postings_ += freqs.size();
  }
}

float ModelIndex::term_score(const ModelPosting& posting, const ModelScoring& scoring) const {
  const double average = static_cast<double>(tokens_) / static_cast<double>(documents_.size());
  const double length = static_cast<double>(documents_[posting.docid]->tokens.size());
  const auto constant = static_cast<float>(scoring.k1 * (1 - scoring.b + scoring.b * length / average));
  const auto freq = static_cast<float>(posting.freq);
  return freq / (constant + freq);
}

double ModelIndex::idf(std::size_t df, const ModelScoring& scoring) const {
  const auto all = static_cast<double>(documents_.size()), with = static_cast<double>(df);
  const double odds = (all - with + 0.5) / (with + 0.5);
  return scoring.robertson ? std::max(1e-6, std::log(odds)) : std::log(1 + odds);
}

float ModelIndex::weight(std::size_t df, int count, const ModelScoring& scoring) const {
  return static_cast<float>(count * idf(df, scoring) * (scoring.k1 + 1));
}

float ModelIndex::top_term_score(const ModelScoring& scoring) const {
  float top = 0;
  for (const auto& [term, postings] : lists_)
    for (const ModelPosting& posting : postings)
      top = std::max(top, weight(postings.size(), 1, scoring) * term_score(posting, scoring));
  return top;
}

std::vector<ScoredDocument> ModelIndex::search(const std::vector<std::string>& terms, bool conjunctive, std::size_t k,
                                               const ModelScoring& scoring) const {
  std::map<std::string, int> counts;
  for (const std::string& term : terms) ++counts[term];
  using Row = std::tuple<std::size_t, std::string, int>;  // df, term, count: sorted, the order of summation
  std::vector<Row> rows;
  for (const auto& [term, count] : counts)
    if (lists_.count(term) > 0) rows.emplace_back(lists_.at(term).size(), term, count);
  if (conjunctive && rows.size() < counts.size()) return {};
  std::sort(rows.begin(), rows.end());

  const double levels = std::pow(2.0, scoring.quantize_bits) - 1;
  const float top = scoring.quantize_bits > 0 ? top_term_score(scoring) : 0;
  const auto quantized = [&](float term_score) {
    return std::max(1.0, std::floor(static_cast<double>(term_score) * (levels / static_cast<double>(top)) + 0.5));
  };
  double idfs = 0;
  for (const auto& [df, term, count] : rows) idfs += count * idf(df, scoring);
  const bool with_pagerank = !scoring.pagerank.empty();
  std::vector<float> scores(documents_.size());
  for (docid_t docid = 0; with_pagerank && docid < scores.size(); ++docid)
    scores[docid] = static_cast<float>(scoring.alpha) * scoring.pagerank[docid];
  std::vector<std::size_t> matches(documents_.size());
  for (const auto& [df, term, count] : rows) {
    const float all_of_them = with_pagerank ? static_cast<float>((1 - scoring.alpha) * count * idf(df, scoring) / idfs)
                                            : weight(df, count, scoring);
    const float once = weight(df, 1, scoring);
    for (const ModelPosting& posting : lists_.at(term)) {
      const float impact = term_score(posting, scoring);
      const float added =
          scoring.quantize_bits > 0 ? static_cast<float>(count * quantized(once * impact)) : all_of_them * impact;
      scores[posting.docid] += added;
      ++matches[posting.docid];
    }
  }
  std::vector<ScoredDocument> results;
  for (docid_t docid = 0; docid < documents_.size(); ++docid)
    if (matches[docid] > 0 && (!conjunctive || matches[docid] == rows.size()))
      results.push_back({docid, scores[docid]});
  std::stable_sort(results.begin(), results.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  if (results.size() > k) results.resize(k);
  return results;
}

}  // namespace quern::testing
