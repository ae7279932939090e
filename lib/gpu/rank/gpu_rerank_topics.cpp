#include "quern/gpu/rank/gpu_rerank_topics.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <vector>

#include "quern/core/run_stage.hpp"
#include "quern/core/wall_clock.hpp"

namespace quern::gpu {
namespace {

/// Documents of topics that a thread takes together, unless a topic has more: less work would not fill a GPU.
constexpr std::size_t least_together = 1024, most_together = 8192;

/// Neighbouring topics.
using TopicGroup = std::span<TopicResults>;

/// Groups of at least some documents, several a thread if there are enough.
std::vector<TopicGroup> groups_of(std::span<TopicResults> topics, std::uint64_t documents, unsigned threads) {
  const std::uint64_t wanted = std::clamp<std::uint64_t>(documents / (4 * threads), least_together, most_together);
  std::vector<TopicGroup> groups;
  for (std::size_t from = 0, end = 0; from < topics.size(); from = end) {
    for (std::uint64_t sum = 0; end < topics.size() && sum < wanted; ++end) sum += topics[end].documents.size();
    groups.push_back(topics.subspan(from, end - from));
  }
  return groups;
}

}  // namespace

RerankFigures rerank_topics(const GpuReranker& reranker, std::span<TopicResults> topics, std::size_t k,
                            const Resources& resources) {
  // Which divides large topics among threads.
  if (reranker.has_failed()) return quern::rerank_topics(reranker.on_cpu(), topics, k, resources);
  return run_stage(resources, [&] {
    RerankFigures figures;
    for (const TopicResults& topic : topics) figures.documents += topic.documents.size();
    const auto begun = WallClock::now();
    tbb::enumerable_thread_specific<Reranker::Space> spaces([&] { return Reranker::Space(reranker.on_cpu().index()); });
    const std::vector<TopicGroup> groups = groups_of(topics, figures.documents, resources.threads);
    tbb::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t i) {
      std::vector<RerankJob> jobs;
      for (TopicResults& topic : groups[i]) jobs.push_back({topic.text, &topic.documents});
      reranker.rerank(jobs, k, spaces.local());
      resources.progress->add(groups[i].size());
    });
    figures.seconds = seconds_since(begun);
    return figures;
  });
}

}  // namespace quern::gpu
