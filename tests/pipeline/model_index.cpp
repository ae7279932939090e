#include "pipeline/model_index.hpp"

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

float ModelIndex::part(const ModelPosting& posting, const ModelScoring& scoring) const {
  const double average = static_cast<double>(tokens_) / static_cast<double>(documents_.size());
  const double length = static_cast<double>(documents_[posting.docid]->tokens.size());
  const auto constant = static_cast<float>(scoring.k1 * (1 - scoring.b + scoring.b * length / average));
  const auto freq = static_cast<float>(posting.freq);
  return freq / (constant + freq);
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

  const auto documents = static_cast<double>(documents_.size());
  std::vector<float> scores(documents_.size());
  std::vector<std::size_t> matches(documents_.size());
  for (const auto& [df, term, count] : rows) {
    const double odds = (documents - static_cast<double>(df) + 0.5) / (static_cast<double>(df) + 0.5);
    const double idf = scoring.robertson ? std::max(1e-6, std::log(odds)) : std::log(1 + odds);
    const auto weight = static_cast<float>(count * idf * (scoring.k1 + 1));
    for (const ModelPosting& posting : lists_.at(term)) {
      const float part = weight * this->part(posting, scoring);
      scores[posting.docid] += part;
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
