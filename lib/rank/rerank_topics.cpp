#include "quern/rank/rerank_topics.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <vector>

#include "quern/core/run_stage.hpp"
#include "quern/core/wall_clock.hpp"

namespace quern {
namespace {

using Spaces = tbb::enumerable_thread_specific<Reranker::Space>;

/// A topic whose documents all threads share.
void rerank_large(const Reranker& reranker, TopicResults& topic, std::size_t k, Spaces& spaces) {
  const FeatureQuery query = reranker.query_of(topic.text, spaces.local());
  const std::span<ScoredDocument> documents(topic.documents);
  constexpr std::size_t at_once = Reranker::documents_at_once;
  tbb::parallel_for(std::size_t{0}, (documents.size() + at_once - 1) / at_once, [&](std::size_t i) {
    const std::size_t from = i * at_once;
    reranker.score(query, documents.subspan(from, std::min(at_once, documents.size() - from)), spaces.local());
  });
  Reranker::keep_best(topic.documents, k);
}

}  // namespace

RerankReport rerank_topics(const Reranker& reranker, std::span<TopicResults> topics, std::size_t k,
                           const Resources& resources) {
  return run_stage(resources, [&] {
    RerankReport figures;
    for (const TopicResults& topic : topics) figures.documents += topic.documents.size();
    const auto begun = WallClock::now();
    Spaces spaces([&] { return Reranker::Space(reranker.index()); });
    // A topic with more than a thread's part of the documents would keep its thread when the others are done.
    std::vector<TopicResults*> small;
    for (TopicResults& topic : topics) {
      const std::uint64_t documents = topic.documents.size();
      if (documents <= Reranker::documents_at_once || documents * resources.threads <= figures.documents) {
        small.push_back(&topic);
        continue;
      }
      rerank_large(reranker, topic, k, spaces);
      resources.progress->add(1);
    }
    tbb::parallel_for(std::size_t{0}, small.size(), [&](std::size_t i) {
      reranker.rerank(small[i]->text, small[i]->documents, k, spaces.local());
      resources.progress->add(1);
    });
    figures.seconds = seconds_since(begun);
    return figures;
  });
}

}  // namespace quern
