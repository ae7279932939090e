#include "quern/plan/schedule_policy.hpp"

#include "quern/core/named.hpp"

namespace quern {
namespace {

constexpr SchedulePolicy policies[] = {
    {"first", make_first_to_end_queues, "each query where it is predicted to end first, with what waits there already"},
    {"ding", make_stealing_queues,
     "three queues: for the CPU, for GPUs, for either; idle processors steal (Ding et al. 2009)"},
    {"lbd", make_block_threshold_queues,
     "queries of fewer blocks than a threshold on GPUs, others on the CPU (Huang et al. 2017)"},
    {"sd", make_random_queues, "half of the queries on either, at random (Huang et al. 2017)"},
    {"share", make_cost_share_queue,
     "GPUs take a share of the predicted costs, first of queries whose lists are there (Wang et al. 2017)"},
    {"better", make_one_at_a_time_queue,
     "one query after another, each where it is predicted to take less time (Ding et al. 2009)"},
    {"cpu", make_cpu_queue, "all on the CPU"},
    {"gpu", make_gpu_queue, "all on GPUs"},
};

}  // namespace

std::span<const SchedulePolicy> all_schedule_policies() { return policies; }

const SchedulePolicy& schedule_policy_named(std::string_view name) {
  return find_named(all_schedule_policies(), name, "schedule");
}

}  // namespace quern
