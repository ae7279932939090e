#pragma once
#include <tbb/task_arena.h>

#include "quern/gpu/gpu_shards.hpp"
#include "quern/plan/cost_model.hpp"
#include "quern/plan/query_dispatcher.hpp"
#include "quern/search/search_backend.hpp"

/// Answers queries on the CPU and on GPUs at the same time, each where a schedule sends it. Results are the same.
namespace quern {

struct HybridOptions {
  std::string schedule = "first";    ///< of all_schedule_policies()
  ScheduleOptions schedule_options;  ///< with the threads of the CPU, at least one; what a batch takes is predicted
  double deadline_us = 0;            ///< from a query's arrival to its answer; 0: none
  unsigned gpu_threads = 2;          ///< of the CPU, that prepare GPUs' batches
  std::size_t max_batch = 16384;     ///< queries that GPUs answer together
  std::string strategy;              ///< of GPUs, for predictions, which know no filters
  bool counts_missing = false;       ///< whether predictions count what GPUs lack of a query's lists
};

/// Queries that one kind of processor has answered, and why there.
struct HybridCounts {
  std::uint64_t faster = 0;      ///< alone, it was predicted to take less time there
  std::uint64_t together = 0;    ///< all queries of a search were predicted to be answered sooner by GPUs alone
  std::uint64_t slower = 0;      ///< the other one was busy, or the schedule looks at something else
  std::uint64_t taken_over = 0;  ///< the other one failed

  std::uint64_t queries() const { return faster + together + slower + taken_over; }
};

struct HybridFigures {
  HybridCounts on_cpu, on_gpu;
  std::uint64_t batches = 0;  ///< of GPUs
  std::uint64_t missed = 0;   ///< deadlines
};

class HybridBackend final : public SearchBackend {
 public:
  /// The arguments must outlive the object. Throws InvalidArgument for an unknown schedule or a number out of range.
  HybridBackend(const CpuBackend& cpu, FallibleGpus& gpus, CostModel costs, HybridOptions options);

  /// Queries of a request with others_arrive are scheduled with all that wait; waits while very many do. Those of
  /// others may go to GPUs together, or, if there is only one, be answered when the search is finished.
  std::unique_ptr<PendingSearch> begin(const SearchRequest& request) override;
  /// If GPUs fail, the CPU answers the other and all later queries; a notice says so.
  void finish(PendingSearch& pending, const AnswerConsumer& consumer) override;
  SearchDivision division(const SearchRequest& request, std::uint64_t held_bytes) override;

  const HybridFigures& figures() const { return figures_; }

 private:
  /// What is known of a query before it runs.
  struct Known {
    WaitingQuery query;
    double alone_us = 0;                                  ///< expected on a GPU that answers nothing else
    double predicted_cpu_us = 0, predicted_alone_us = 0;  ///< before they are corrected

    bool is_faster_on_gpu() const { return alone_us < query.expected_cpu_us; }
  };
  struct Found {
    QueryAnswer answer;
    std::exception_ptr error;
    Processor by = Processor::cpu;
    double response_us = 0;
  };
  struct Group;
  class Pending;

  /// Predicts the queries whose numbers are multiples of `every`.
  std::vector<Known> predict(const SearchRequest& request, std::size_t every = 1);
  Known predict(const QueryPredictor& predictor, const QueryFeatures& features) const;
  const QueryPredictor& predictor_of(const SearchRequest& request);
  QueryFeatures features(const SearchRequest& request, QueryView query) const;
  /// Whether GPUs alone are predicted to answer a request sooner than all threads of the CPU. The CPU's threads then
  /// help more by making batches than by answering queries.
  bool gpus_are_faster(const SearchRequest& request);
  void schedule(Pending& search);
  /// Starts the processors. What a batch takes besides its queries is predicted from these queries.
  void start(std::span<const Known> queries);
  /// Answers a search's only query in this thread, since handing it over takes as long as a short query.
  void answer_alone(const SearchRequest& request, QueryAnswer& answer);
  std::shared_ptr<Group> group_of(std::uint64_t number);
  void answer_on_cpu(const WaitingQuery& query);
  /// Throws CudaError.
  void answer_on_gpus(std::span<const WaitingQuery> queries);
  void ended(Group& group, const WaitingQuery& query, Processor by);
  void count(Processor by, const Known& known, double response_us);
  void count(const Group& group);
  void report();

  const CpuBackend& cpu_;
  FallibleGpus& gpus_;
  CostModel costs_;
  HybridOptions options_;
  std::map<std::pair<std::string_view, std::size_t>, QueryPredictor> predictors_;  ///< by algorithm and k
  CostCorrection cpu_correction_, alone_correction_;
  HybridFigures figures_;

  std::mutex groups_mutex_;                                 ///< of predictors, too
  std::map<std::uint64_t, std::shared_ptr<Group>> groups_;  ///< that are begun, by their first query's number
  std::uint64_t next_number_ = 0;

  std::unique_ptr<QueryDispatcher> dispatcher_;  ///< ends before what its workers use
};

}  // namespace quern
