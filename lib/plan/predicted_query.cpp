#include "quern/plan/predicted_query.hpp"

namespace quern {
namespace {

CostPredictor on_gpu(const CostModel& costs, const StreamWorkload& of, std::size_t batch) {
  return costs.predictor({Processor::gpu, of.algorithm, of.strategy, of.k, batch});
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
