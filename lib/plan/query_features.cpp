#include "quern/plan/query_features.hpp"

namespace quern {

void add_list(QueryFeatures& features, std::uint64_t postings, std::uint64_t blocks) {
  if (features.terms == 0 || postings < features.shortest) {
    features.second = features.shortest;
    features.shortest = postings;
  } else if (features.terms == 1 || postings < features.second) {
    features.second = postings;
  }
  ++features.terms;
  features.postings += postings;
  features.blocks += blocks;
}

QueryFeatures features_of(const IndexReader& index, QueryView query, Matching matching) {
  const bool all_needed = matching == Matching::all;
  QueryFeatures features;
  const bool all_found = find_lists(index, query, all_needed, [&](const PostingList& list, double) {
    add_list(features, list.df, list.num_blocks(index.block_size()));
  });
  return all_needed && !all_found ? QueryFeatures{} : features;
}

QueryFeatures features_of(std::span<const QueryEngine* const> engines, QueryView query, Matching matching) {
  QueryFeatures features;
  for (const QueryTerm& term : query) {
    std::uint64_t postings = 0, blocks = 0;
    for (const QueryEngine* engine : engines) {
      const auto list = engine->find(term.term);
      if (!list) continue;
      postings += list->df;
      blocks += list->num_blocks(engine->index().block_size());
    }
    if (postings > 0)
      add_list(features, postings, blocks);
    else if (matching == Matching::all)
      return {};
  }
  return features;
}

namespace {

CostPredictor on_gpu(const CostModel& costs, const StreamWorkload& workload, std::size_t batch) {
  return costs.predictor({Processor::gpu, workload.algorithm, workload.strategy, workload.k, batch});
}

}  // namespace

QueryPredictor::QueryPredictor(const CostModel& costs, const StreamWorkload& workload)
    : cpu_(costs.predictor({Processor::cpu, workload.algorithm, {}, workload.k, 1})),
      gpu_(on_gpu(costs, workload, workload.max_batch)),
      alone_(on_gpu(costs, workload, 1)) {}

WaitingQuery QueryPredictor::predict(const QueryFeatures& features) const {
  WaitingQuery query;
  query.blocks = features.blocks;
  query.missing_bytes = features.missing_bytes;
  query.expected_cpu_us = cpu_.us(features);
  query.expected_gpu_us = gpu_.us(features);
  return query;
}

}  // namespace quern
