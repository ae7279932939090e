#include "quern/lab/rerank_summary.hpp"

#include <algorithm>

namespace quern {
namespace {

/// The CPU's figures with as many documents, on one thread or on several; null if there are none.
const RerankFigures* figures_like(const RerankFigures& like, std::span<const RerankFigures> on_cpu, bool one_thread) {
  const auto found = std::find_if(on_cpu.begin(), on_cpu.end(), [&](const RerankFigures& each) {
    return each.ranker == like.ranker && each.documents == like.documents && (each.threads == 1) == one_thread;
  });
  return found == on_cpu.end() ? nullptr : &*found;
}

RerankSummary summary_of(const std::vector<RerankFigures>& of_ranker, std::span<const RerankFigures> on_cpu) {
  RerankSummary summary;
  summary.ranker = of_ranker.front().ranker;
  for (const RerankFigures& gpu : of_ranker) {
    const RerankFigures* const core = figures_like(gpu, on_cpu, true);
    if (core == nullptr) continue;
    if (gpu.seconds >= core->seconds)
      summary.fewest_documents.reset();
    else if (!summary.fewest_documents)
      summary.fewest_documents = gpu.documents;
    summary.most_documents = gpu.documents;
    summary.speedup = core->seconds / gpu.seconds;
    summary.threads_speedup.reset();
    if (const RerankFigures* const all = figures_like(gpu, on_cpu, false))
      summary.threads_speedup = all->seconds / gpu.seconds;
  }
  return summary;
}

}  // namespace

std::vector<RerankSummary> summarize_reranking(std::span<const RerankFigures> on_cpu,
                                               std::span<const RerankFigures> on_gpu) {
  std::vector<std::vector<RerankFigures>> rankers;
  for (const RerankFigures& gpu : on_gpu) {
    const auto same = std::find_if(rankers.begin(), rankers.end(),
                                   [&](const auto& ranker) { return ranker.front().ranker == gpu.ranker; });
    if (same == rankers.end())
      rankers.push_back({gpu});
    else
      same->push_back(gpu);
  }
  std::vector<RerankSummary> summaries;
  for (std::vector<RerankFigures>& ranker : rankers) {
    std::stable_sort(ranker.begin(), ranker.end(),
                     [](const RerankFigures& a, const RerankFigures& b) { return a.documents < b.documents; });
    RerankSummary summary = summary_of(ranker, on_cpu);
    if (summary.most_documents > 0) summaries.push_back(std::move(summary));
  }
  return summaries;
}

double mean_speedup(std::span<const RerankSummary> summaries) {
  double sum = 0;
  for (const RerankSummary& summary : summaries) sum += 1 / summary.speedup;
  return summaries.empty() ? 0 : static_cast<double>(summaries.size()) / sum;
}

}  // namespace quern
