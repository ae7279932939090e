#pragma once
#include <string>
#include <utility>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/formats/exchange/inverted_file.hpp"

namespace quern::testing {

/// An inverted file in memory; also a sink that stores everything in order of arrival.
struct InvertedModel : InvertedSink {
  struct List {
    std::string term;
    std::vector<std::pair<docid_t, freq_t>> postings;
    bool operator==(const List&) const = default;
    bool operator<(const List& other) const { return term < other.term; }
  };
  InvertedCounts counts;
  std::vector<List> lists;
  std::vector<std::pair<std::string, std::uint32_t>> documents;  ///< docno and length
  bool ended = false;

  void begin(const InvertedCounts& given) override { counts = given; }
  void add_posting(docid_t docid, freq_t freq) override { open_.emplace_back(docid, freq); }
  void end_list(std::string_view term) override {
    lists.push_back({std::string(term), open_});
    open_.clear();
  }
  void add_document(std::string_view docno, std::uint32_t length) override { documents.emplace_back(docno, length); }
  void end() override { ended = true; }

  void play(InvertedSink& sink) const {
    sink.begin(counts);
    for (const List& list : lists) {
      for (const auto& [docid, freq] : list.postings) sink.add_posting(docid, freq);
      sink.end_list(list.term);
    }
    for (const auto& [docno, length] : documents) sink.add_document(docno, length);
    sink.end();
  }

 private:
  std::vector<std::pair<docid_t, freq_t>> open_;
};

/// Lists of all lengths in random term order; document lengths are the sums of the frequencies.
inline InvertedModel random_inverted(std::uint64_t seed, std::uint64_t documents, std::uint64_t terms) {
  RandomBits random(seed);
  InvertedModel model;
  for (std::uint64_t i = 0; i < documents; ++i)
    model.documents.emplace_back("doc " + std::to_string(random.below(10 * documents)), 0);
  for (std::uint64_t i = 0; i < terms; ++i) {
    // A factor coprime to 1,000,003 shuffles the terms and keeps them distinct.
    InvertedModel::List list{"t" + std::to_string(i * 611953 % 1000003), {}};
    const std::uint64_t one_in = 1 + random.below(1 + random.below(documents));
    for (docid_t docid = 0; docid < documents; ++docid) {
      if (random.below(one_in) != 0) continue;
      const auto freq = static_cast<freq_t>(1 + random.below(1 + random.below(random.below(50) == 0 ? 5000 : 4)));
      list.postings.emplace_back(docid, freq);
      model.documents[docid].second += freq;
    }
    if (!list.postings.empty()) model.lists.push_back(std::move(list));
  }
  model.counts = {model.lists.size(), documents, documents, 0};
  for (const auto& document : model.documents) model.counts.total_tokens += document.second;
  return model;
}

}  // namespace quern::testing
