#include "quern/lab/synth/global_scores.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "quern/lab/synth/link_graph.hpp"
#include "quern/lab/synth/list_generator.hpp"
#include "quern/order/global_score.hpp"

namespace quern {
namespace {

/// PageRank decreases with this power of the rank, as on the web (Pandurangan et al.: Using PageRank to Characterize
/// Web Structure, 2002: density exponent 2.1).
constexpr double rank_exponent = 0.9;
constexpr float site_varies = 0.8f;

constexpr std::uint64_t site_draw = 12;

void raise(std::atomic<float>& to, float value) {
  float before = to.load(std::memory_order_relaxed);
  while (before < value && !to.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

std::vector<float> synthetic_pagerank(const DocumentTree& tree, std::uint64_t seed) {
  const auto sites = tree.site_starts();
  std::vector<float> scores(tree.documents());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const docid_t end = i + 1 < sites.size() ? sites[i + 1] : tree.documents();
    const float factor = portable_exp(site_varies * normal_of(noise_bits(mix_bits(seed + site_draw), i)));
    std::fill(scores.begin() + sites[i], scores.begin() + end, factor);
  }
  const PopularityRanking popular(tree.documents(), seed);
  double sum = 0;
  for (docid_t rank = 0; rank < tree.documents(); ++rank) {
    float& score = scores[popular.at(rank)];
    score *= static_cast<float>(std::pow(rank + 1.0, -rank_exponent));
    sum += score;
  }
  for (float& score : scores) score = static_cast<float>(score / sum);
  return scores;
}

DocumentBests document_bests(const DocumentTree& tree, std::span<const TermField> fields,
                             std::span<const float> constants, const Resources& resources) {
  std::vector<std::atomic<float>> max_impacts(tree.documents());
  std::vector<std::atomic<std::uint32_t>> terms(tree.documents());
  tbb::enumerable_thread_specific<ListGenerator> generators([&] { return ListGenerator(tree); });
  tbb::parallel_for(std::size_t{0}, fields.size(), [&](std::size_t term) {
    generators.local().generate(fields[term], [&](std::span<const docid_t> documents, std::span<const freq_t> freqs) {
      for (std::size_t i = 0; i < documents.size(); ++i) {
        raise(max_impacts[documents[i]], impact(freqs[i], constants[documents[i]]));
        terms[documents[i]].fetch_add(1, std::memory_order_relaxed);
      }
    });
    resources.progress->add(fields[term].df);
  });
  DocumentBests bests;
  bests.impacts.assign(max_impacts.begin(), max_impacts.end());
  bests.terms.assign(terms.begin(), terms.end());
  return bests;
}

std::vector<float> global_score_bounds(std::span<const float> pagerank, const DocumentBests& bests, double alpha) {
  std::vector<float> bounds(pagerank.size());
  for (std::size_t i = 0; i < bounds.size(); ++i)
    bounds[i] = global_score_bound(pagerank[i], bests.impacts[i], bests.terms[i], alpha);
  return bounds;
}

}  // namespace quern
