#pragma once
#include <tbb/task_arena.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/plan/cost_model.hpp"
#include "quern/plan/query_dispatcher.hpp"
#include "quern/plan/query_features.hpp"
#include "quern/search/query_engine.hpp"

/// Answers queries on the CPU and on GPUs at the same time, each where a schedule sends it. Results are the same.
namespace quern {

struct SharedEngineOptions {
  std::string schedule = "first";        ///< of all_schedule_policies()
  ScheduleOptions schedule_options;      ///< with the threads of the CPU, at least one; what a batch takes is predicted
  double deadline_us = 0;                ///< from a query's arrival to its answer; 0: none
  unsigned gpu_threads = 2;              ///< of the CPU, that prepare GPUs' batches
  std::size_t max_batch = 16384;         ///< queries that GPUs answer together
  std::string strategy;                  ///< of GPUs, for predictions
  const DocumentSet* passing = nullptr;  ///< documents that may be results; null: all. Predictions know no filters
  /// Bytes of a query's lists that GPUs lack when it arrives; empty: none. Several threads call it at the same time.
  std::function<std::uint64_t(std::span<const WeightedList> lists)> missing_bytes;
};

/// Queries that one kind of processor has answered, and why there.
struct SharedCounts {
  std::uint64_t faster = 0;      ///< alone, it was predicted to take less time there
  std::uint64_t together = 0;    ///< all that was there was predicted to be answered sooner by GPUs alone
  std::uint64_t slower = 0;      ///< the other one was busy, or the schedule looks at something else
  std::uint64_t taken_over = 0;  ///< the other one failed

  std::uint64_t queries() const { return faster + together + slower + taken_over; }
};

struct SharedFigures {
  SharedCounts on_cpu, on_gpu;
  std::uint64_t batches = 0;  ///< of GPUs
  std::uint64_t missed = 0;   ///< deadlines
};

class SharedEngine {
 public:
  /// Answers queries on GPUs. Throws CudaError if none is left. Several threads call it at the same time.
  using BatchSearch = std::function<std::vector<std::vector<ScoredDocument>>(std::span<const std::string_view> texts,
                                                                             GpuStatistics& statistics)>;

  /// `engine` and `algorithm` must outlive the object. Throws InvalidArgument for an unknown schedule or a k out of its
  /// range.
  SharedEngine(const QueryEngine& engine, const QueryAlgorithm& algorithm, std::size_t k, BatchSearch gpus,
               CostModel costs, SharedEngineOptions options, FailoverNotice notice);

  /// Answers queries that all arrive now, and hands the answers over as run_batch() does. Adds to `statistics` what
  /// GPUs did. If they fail, the CPU answers what is left, and all later queries; a notice says so. Throws what
  /// QueryEngine::search() and GpuEngine::search() throw for other reasons, and what `steps` throw. For one thread.
  void run(std::span<const std::string_view> texts, const BatchSteps& steps, GpuStatistics& statistics,
           std::uint64_t held_bytes = default_held_bytes);

  /// Queries that arrived together, and their answers. It waits for them when it ends.
  class Group;
  /// Hands queries that arrive now to the processors, and returns; waits while very many wait. The texts and the engine
  /// must outlive what is returned. For one thread at a time, and not while run() is called.
  std::unique_ptr<Group> begin(std::span<const std::string_view> texts);
  /// Waits for the answers to a group that was begun, and does with them what run() does. Another thread may begin
  /// groups; for one thread at a time.
  void finish(Group& group, const BatchSteps& steps, GpuStatistics& statistics,
              std::uint64_t held_bytes = default_held_bytes);
  const SharedFigures& figures() const { return figures_; }

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

  struct GroupState;
  using Results = std::vector<std::vector<ScoredDocument>>;
  struct TimedResults {
    Results results;
    double us = 0;  ///< to find them
  };
  /// Of a log: a group, or queries that GPUs are to answer alone.
  struct Part {
    std::span<const std::string_view> texts;
    std::unique_ptr<Group> group;
    std::future<TimedResults> on_gpus;
  };

  bool is_first() const { return options_.schedule == "first"; }
  /// Predicts the queries whose numbers are multiples of `every`.
  std::vector<Known> predict(std::span<const std::string_view> texts, std::size_t every = 1);
  Known predict(const QueryFeatures& features) const;
  QueryFeatures features(std::string_view text, Analyzer& analyzer);
  QueryFeatures features(std::span<const WeightedList> lists, bool all_found) const;
  /// Starts the processors. What a batch takes besides its queries is predicted from these queries.
  void start(std::span<const Known> queries);
  DispatchWorker cpu_worker();
  DispatchWorker gpu_worker(const std::shared_ptr<tbb::task_arena>& arena);
  /// A group, of which nobody knows yet. Starts the processors, if that was not done.
  std::unique_ptr<Group> new_group(std::span<const std::string_view> texts);
  /// A group's queries, with their numbers.
  static std::vector<WaitingQuery> waiting(const GroupState& group);
  /// Whether GPUs are predicted to answer queries that are there together sooner than all threads of the CPU. These do
  /// better then to make the GPUs' batches than to answer some of the queries, each of which takes them longer.
  bool gpus_are_faster(std::span<const std::string_view> texts);
  /// Has a part of a log answered. `has_others`: it is not all of the log.
  Part begin_part(std::span<const std::string_view> texts, bool has_others);
  void finish(Part& part, const BatchSteps& steps, GpuStatistics& statistics, std::uint64_t held_bytes);
  /// Hands answers over, which `find` finds in several threads.
  void hand_over(std::size_t count, const BatchSteps& steps, std::uint64_t held_bytes,
                 const std::function<void(std::size_t, QueryAnswer&)>& find) const;
  /// Answers a query in this thread, on the CPU or on GPUs. Handing it over to another thread takes as long as a short
  /// query does.
  void run_alone(std::string_view text, const BatchSteps& steps, GpuStatistics& statistics);
  /// The group of the query of this number.
  std::shared_ptr<GroupState> group_of(std::uint64_t number);
  void answer_on_cpu(const WaitingQuery& query, Analyzer& analyzer);
  /// Why GPUs are not used any more; empty: they are. Thread-safe.
  std::string failure();
  /// What GPUs find, and counts what they did. Throws CudaError, and does not ask them again, if they fail.
  Results ask_gpus(std::span<const std::string_view> texts);
  /// Throws CudaError.
  void answer_on_gpus(std::span<const WaitingQuery> queries);
  void ended(GroupState& group, const WaitingQuery& query, Processor by);
  /// Counts what was found, and says what has failed.
  void count(const GroupState& group, GpuStatistics& statistics);
  /// With the lock of GPUs: counts a query.
  void count(Processor by, const Known& known, double response_us);
  /// With the lock of GPUs: hands over what they did, and says what has failed.
  void report(GpuStatistics& statistics);

  const QueryEngine& engine_;
  const QueryAlgorithm& algorithm_;
  const std::size_t k_;
  BatchSearch gpus_;
  CostModel costs_;
  SharedEngineOptions options_;
  QueryPredictor predictor_;
  CostCorrection cpu_correction_, alone_correction_;
  FailoverNotice notice_;
  SharedFigures figures_;
  Analyzer analyzer_;
  FoundTerms found_terms_;

  std::mutex groups_mutex_;
  std::map<std::uint64_t, std::shared_ptr<GroupState>> groups_;  ///< that are begun, by their first query's number
  std::uint64_t next_number_ = 0;

  std::mutex gpu_mutex_;  ///< of what follows, while threads work with GPUs
  GpuStatistics of_gpus_;
  std::uint64_t batches_ = 0;
  std::string failure_;  ///< why GPUs are not used any more; empty: they are
  bool told_ = false;    ///< and that was said

  std::unique_ptr<QueryDispatcher> dispatcher_;  ///< ends before what its workers use
};

struct SharedEngine::GroupState {
  std::span<const std::string_view> texts;
  std::vector<Known> queries;
  std::uint64_t first_number = 0;
  std::vector<Found> found;
  std::atomic<std::size_t> left = 0;  ///< queries to be answered

  bool has(std::uint64_t number) const { return number >= first_number && number - first_number < texts.size(); }

  void wait() const {
    for (std::size_t some = left; some > 0; some = left) left.wait(some);
  }
};

class SharedEngine::Group {
 public:
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

 private:
  friend SharedEngine;
  Group(SharedEngine& engine, std::shared_ptr<GroupState> state);

  SharedEngine& engine_;
  const std::shared_ptr<GroupState> state_;
};

}  // namespace quern
