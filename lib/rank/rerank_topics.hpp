#pragma once
#include <cstdint>
#include <span>

#include "quern/core/resources.hpp"
#include "quern/rank/reranker.hpp"
#include "quern/rank/run_topics.hpp"

namespace quern {

struct RerankReport {
  std::uint64_t documents = 0;  ///< that were given a score
  double seconds = 0;
};

/// Reranks all topics, in parallel, and leaves the k best documents of each; threads share the documents of a topic
/// that has many. Throws as Reranker::rerank() does.
RerankReport rerank_topics(const Reranker& reranker, std::span<TopicResults> topics, std::size_t k,
                           const Resources& resources);

}  // namespace quern
