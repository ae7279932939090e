#include "quern/rerank/rerank_topics.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "quern/core/run_stage.hpp"
#include "quern/core/wall_clock.hpp"

namespace quern {

RerankFigures rerank_topics(const Reranker& reranker, std::span<TopicResults> topics, std::size_t k,
                            const Resources& resources) {
  return run_stage(resources, [&] {
    RerankFigures figures;
    for (const TopicResults& topic : topics) figures.documents += topic.documents.size();
    const auto begun = WallClock::now();
    tbb::enumerable_thread_specific<Reranker::Space> spaces([&] { return Reranker::Space(reranker.index()); });
    tbb::parallel_for(std::size_t{0}, topics.size(), [&](std::size_t i) {
      reranker.rerank(topics[i].text, topics[i].documents, k, spaces.local());
      resources.progress->add(1);
    });
    figures.seconds = seconds_since(begun);
    return figures;
  });
}

}  // namespace quern
