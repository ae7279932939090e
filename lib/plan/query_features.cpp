#include "quern/plan/query_features.hpp"

#include <algorithm>

namespace quern {

void add_list(QueryFeatures& features, const PostingList& list, std::uint32_t block_size) {
  const std::uint64_t length = list.df;
  if (features.terms == 0 || length < features.shortest) {
    features.second = features.shortest;
    features.shortest = length;
  } else if (features.terms == 1 || length < features.second) {
    features.second = length;
  }
  ++features.terms;
  features.postings += length;
  features.blocks += list.num_blocks(block_size);
}

QueryFeatures features_of(std::span<const WeightedList> lists, bool all_found, std::uint32_t block_size,
                          Matching matching) {
  QueryFeatures features;
  if (matching == Matching::all && !all_found) return features;
  for (const WeightedList& list : lists) add_list(features, list.list, block_size);
  return features;
}

QueryFeatures features_of(const IndexReader& index, std::vector<std::string> terms, Matching matching) {
  const bool all_needed = matching == Matching::all;
  QueryFeatures features;
  const bool all_found = find_lists(
      index, terms, all_needed, [&](const PostingList& list, double) { add_list(features, list, index.block_size()); });
  return all_needed && !all_found ? QueryFeatures{} : features;
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
