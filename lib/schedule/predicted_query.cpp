#include "quern/schedule/predicted_query.hpp"

namespace quern {

WaitingQuery predicted_query(const CostModel& costs, const QueryFeatures& features, const StreamWorkload& workload) {
  WaitingQuery query;
  query.blocks = features.blocks;
  query.missing_bytes = features.missing_bytes;
  query.expected_cpu_us = costs.expected_us({Processor::cpu, workload.algorithm, {}, workload.k, 1}, features);
  query.expected_gpu_us = costs.expected_us(
      {Processor::gpu, workload.algorithm, workload.strategy, workload.k, workload.max_batch}, features);
  return query;
}

}  // namespace quern
