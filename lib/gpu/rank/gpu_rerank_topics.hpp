#pragma once
#include <span>

#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/rank/rerank_topics.hpp"

namespace quern::gpu {

/// As quern::rerank_topics(), by a GPU where that is worth it: threads make batches of topics for it.
RerankFigures rerank_topics(const GpuReranker& reranker, std::span<TopicResults> topics, std::size_t k,
                            const Resources& resources);

}  // namespace quern::gpu
