#pragma once
#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quern/core/random.hpp"
#include "quern/gpu/rank/features/feature_batch.hpp"
#include "quern/rank/features/feature_extractor.hpp"
#include "quern/rank/features/feature_list.hpp"

#include "catch.hpp"
#include "index/forward/indexed_site.hpp"
#include "index/shards/split_corpus.hpp"

/// Queries over the pages of a random site, and their features as the CPU computes them.
namespace quern::testing {

/// An index of a random site with its forward file, also cut into shards.
class FeatureSite {
 public:
  FeatureSite(std::uint64_t seed, std::size_t pages, bool split = false, std::uint32_t shards = 1) {
    if (split) pipeline_.chunk_limits = {.terms = 50, .bytes = 600};
    const StageFile file = pipeline_.parse(as_trecweb(random_site(seed, pages)));
    const CollectionReader collection(file);
    site_ = index_site(pipeline_, collection, pipeline_.order(collection, OrderBy::url));
    index_ = std::make_unique<IndexReader>(Pipeline::open_index(site_.index));
    forward_ = std::make_unique<ForwardReader>(open_forward(site_.forward));
    if (shards > 1) shards_.emplace(cut_shards(pipeline_, *index_, *forward_, shards));
  }
  const IndexReader& index() const { return *index_; }
  const ForwardReader& forward() const { return *forward_; }
  std::vector<FeatureShard> whole() const { return {{*index_, *forward_}}; }
  /// The shards, or the whole index if it wasn't cut.
  std::vector<FeatureShard> shards() const {
    return shards_ ? feature_shards(*shards_->indexes, shards_->forwards) : whole();
  }

 private:
  Pipeline pipeline_;
  IndexedSite site_;
  std::unique_ptr<IndexReader> index_;
  std::unique_ptr<ForwardReader> forward_;
  std::optional<ForwardShards> shards_;
};

/// A query with some of its documents.
struct FeatureJob {
  std::string text;
  std::vector<FeatureCandidate> candidates;
};

/// Queries of words in pages, of words only in link texts, which have no list, and of unknown words.
inline std::vector<FeatureJob> random_jobs(const FeatureSite& site, RandomBits& random, std::size_t count,
                                           std::size_t most_documents = 70) {
  std::vector<FeatureJob> jobs(count);
  for (FeatureJob& job : jobs) {
    for (std::uint64_t n = random.below(random.below(8) == 0 ? 30 : 6); n > 0; --n) {
      const std::string others[] = {"anchoronly" + std::to_string(random.below(8)), "nowhere", "example", "http"};
      job.text += (random.below(5) == 0 ? others[random.below(4)] : "w" + std::to_string(random.below(14))) + " ";
    }
    for (std::uint64_t n = random.below(most_documents); n > 0; --n)
      job.candidates.push_back({static_cast<docid_t>(random.below(site.index().num_documents())),
                                static_cast<float>(random.below(1000)) / 8});
  }
  return jobs;
}

/// Some features in random order, or all.
inline std::vector<std::uint32_t> random_selection(RandomBits& random) {
  std::vector<std::uint32_t> selection = select_features("all");
  if (random.below(2) == 0) return selection;
  for (std::size_t i = selection.size(); i > 1; --i) std::swap(selection[i - 1], selection[random.below(i)]);
  selection.resize(1 + random.below(selection.size()));
  return selection;
}

inline void add_jobs(gpu::FeatureBatch& batch, const FeatureExtractor& extractor, const std::vector<FeatureJob>& jobs) {
  Analyzer analyzer = extractor.make_analyzer();
  for (const FeatureJob& job : jobs) {
    const auto queries = extractor.queries_of(job.text, analyzer);
    batch.begin_query(queries);
    for (const FeatureCandidate& candidate : job.candidates) batch.add(candidate);
  }
}

/// Compares columns, which contain the documents of all jobs in order, with the CPU's values, bit for bit.
inline void require_features(const FeatureExtractor& extractor, const std::vector<FeatureJob>& jobs,
                             const FeatureColumns& found) {
  std::size_t row = 0;
  FeatureExtractor::Space space;
  Analyzer analyzer = extractor.make_analyzer();
  for (const FeatureJob& job : jobs) {
    FeatureMatrix matrix;
    matrix.resize(extractor.num_features(), job.candidates.size());
    extractor.extract(extractor.queries_of(job.text, analyzer), job.candidates, 0, matrix, space);
    for (std::size_t d = 0; d < job.candidates.size(); ++d, ++row)
      for (std::uint32_t feature = 0; feature < extractor.num_features(); ++feature) {
        INFO("feature " << feature << ", docID " << job.candidates[d].docid << ", row " << row);
        REQUIRE(std::bit_cast<std::uint32_t>(found.column(feature)[row]) ==
                std::bit_cast<std::uint32_t>(matrix.at(feature, d)));
      }
  }
  REQUIRE(row == found.documents);
}

}  // namespace quern::testing
