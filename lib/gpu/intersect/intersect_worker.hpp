#pragma once
#include <tbb/enumerable_thread_specific.h>

#include "quern/gpu/intersect/intersect_runner.hpp"
#include "quern/gpu/worker/gpu_worker.hpp"
#include "quern/gpu/worker/work_queue.hpp"
#include "quern/search/intersect.hpp"

namespace quern {

/// Counts and times of GPUs' intersections. Times of several GPUs are added.
struct GpuIntersectionStatistics : GpuWorkStatistics {
  std::uint64_t postings = 0;  ///< in the lists of all queries without a missing term
  gpu::UnpackCounts unpacked;
  double response_us = 0;          ///< from terms to documents, summed over all batches
  double longest_response_us = 0;  ///< maximum of all batches
  gpu::IntersectTimes device;      ///< of all batches

  GpuIntersectionStatistics& operator+=(const GpuIntersectionStatistics& other);
};

struct IntersectionQuery {
  std::size_t number = 0;  ///< in the order of the queries
  std::size_t place = 0;   ///< in the order of answers
  QueryView terms;
  std::vector<PostingList> lists;  ///< if found_lists; empty if no document can match
  bool found_lists = false;
  bool in_batch = false, on_cpu = false;
  bool is_taken = false;  ///< its documents were delivered: if the GPU fails later, the query may come back
};

/// The common context of all GPUs' workers.
struct IntersectionContext {
  IntersectionContext(const IndexReader& reader, const GpuIntersectionMethod& used, const GpuIntersectionOptions& how)
      : index(reader),
        cpu(reader, all_intersection_methods().front(), {}),
        method(&used),
        options(how),
        found_terms(reader) {}

  /// Finds the lists of the queries without found_lists, in parallel.
  void find_lists(std::span<IntersectionQuery* const> queries);
  gpu::ResultTransfer transfer() const { return options.transfer.value_or(method->transfer); }
  bool bucketing() const { return options.bucketing.value_or(method->bucketing); }
  gpu::IntersectWork work() const { return {method->kernels, options.levels, transfer()}; }

  const IndexReader& index;
  const Intersection cpu;
  const GpuIntersectionMethod* method;
  GpuIntersectionOptions options;
  tbb::enumerable_thread_specific<Intersection::WorkSpace> spaces;
  FoundTerms found_terms;
};

namespace gpu {

struct IntersectFlight : WorkerFlight {
  using Query = IntersectionQuery;

  IntersectFlight(const DeviceIndex& index, const DeviceListStore* store, std::uint64_t max_bytes)
      : runner(make_intersect_runner(index, store, max_bytes)) {}

  std::unique_ptr<IntersectRunner> runner;
  std::unique_ptr<WindowedBatch> windows;
  GpuIntersectionStatistics* statistics = nullptr;
  std::vector<std::uint32_t> places;                 ///< see IntersectArrays
  std::vector<std::span<const docid_t>> answers;     ///< of its queries, after it has ended
  std::vector<std::vector<docid_t>> window_answers;  ///< if it ran in windows
  WallClock::time_point begun;
};

}  // namespace gpu

/// One GPU's batches of intersections: unpacked lists in its memory, and two runners that alternate.
class IntersectWorker final : public gpu::GpuWorker<gpu::IntersectFlight> {
 public:
  /// Receives a query's documents, a span that is valid until it returns.
  using Take = std::function<void(const IntersectionQuery& query, std::span<const docid_t> documents)>;

  /// Copies the index, or as much as fits, to the GPU. Throws like DeviceIndex and DeviceListStore.
  IntersectWorker(IntersectionContext& context, unsigned gpu, Progress& progress);
  /// Flights use the members here, which the base class would outlive.
  ~IntersectWorker() override { flights_.clear(); }

  /// GPU memory that stays allocated: rows, and lists or the room for them.
  std::uint64_t device_bytes() const { return index_.account().taken(); }
  /// Allocates memory for unpacked lists if the context's method needs it. Drops unpacked lists unless `keep_unpacked`.
  void prepare_method(bool keep_unpacked);
  /// Answers batches in order until the queue is empty. Adds to `statistics`. If the GPU fails, gives its unfinished
  /// queries back to the queue and throws CudaError; for other errors, stops the queue and rethrows. One thread at a
  /// time proceeds.
  void process(gpu::WorkQueue<IntersectionQuery>& queue, const Take& take, GpuIntersectionStatistics& statistics);

 private:
  using Flight = gpu::IntersectFlight;
  enum class Placement : std::uint8_t {
    no_match,    ///< none, since a term is missing
    added,       ///< in this batch
    next_batch,  ///< in the next batch, since this one lacks memory for results
    no_room,     ///< none yet, since unpacked lists leave too little memory
    on_cpu,      ///< on the CPU, since the query is too large for the GPU's memory
  };

  std::size_t fill(unsigned number, Queries queries, bool for_windows) override;
  bool fits(unsigned) override { return batch_end_ != Placement::no_room && store_->fit(batch_.coded_lists()); }
  bool make_windows(unsigned number, Queries queries, std::size_t& count) override;
  void prepare_windows(unsigned number) override;
  void run_windows(unsigned number, const gpu::IntersectRunner* after) override {
    Flight& flight = flights_[number];
    flight.runner->run_windows(*flight.windows, context_.work(), unpacked_memory_.data(), *store_, number, after);
  }
  std::size_t start_whole(unsigned number, Queries queries, std::size_t count) override;
  void started(unsigned, Queries) override {}
  void wait_for_results(unsigned number) override;
  void release_decoded(unsigned number, bool ran) noexcept override;
  void clear_decoded() noexcept override { unpacked_.clear(); }
  void leave_to_cpu(IntersectionQuery& query) override {
    query.in_batch = false;
    query.on_cpu = true;
  }
  gpu::MemoryTable memory() const override;

  std::size_t launch_batch(unsigned number, Queries queries);
  /// Lands a flight, and relaunches its queries until all are answered, in order.
  void finish(unsigned number, Queries queries, const Take& take);
  void take_answers(Flight& flight, Queries queries, const Take& take);
  void answer_on_cpu(IntersectionQuery& query, const Take& take, GpuIntersectionStatistics& statistics);
  /// The format to which windows unpack lists; coded if they don't.
  gpu::ListFormat format_in_windows() const;
  void begin_batch(unsigned number) { batch_.begin(context_.method->unpacking, item_sizes(), number); }
  gpu::ItemSizes item_sizes() const;
  /// Adds queries to a batch until one must wait for the next batch or does not fit, and sets `end` to that reason.
  /// Returns the number of placed queries.
  std::size_t add(gpu::IntersectBatch& batch, Queries queries, Placement& end) const;
  Placement add(gpu::IntersectBatch& batch, const IntersectionQuery& query) const;
  /// Adds the query to the empty batch once other unpacked lists are released, or leaves it to the CPU.
  void add_with_all_memory(IntersectionQuery& query, unsigned number);
  /// Maximum words for the results of a batch.
  std::uint64_t max_words() const;

  IntersectionContext& context_;
  std::mutex processing_;
  gpu::MemoryAccount unpacked_account_;
  gpu::DeviceArray<std::uint32_t> unpacked_memory_;
  gpu::UnpackedLists unpacked_;
  gpu::IntersectBatch batch_;               ///< the batch in the making
  Placement batch_end_ = Placement::added;  ///< the reason why the batch ended
};

}  // namespace quern
