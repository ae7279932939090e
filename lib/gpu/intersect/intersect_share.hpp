#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/intersect/intersect_runner.hpp"
#include "quern/gpu/worker/batch_growth.hpp"
#include "quern/gpu/worker/pipeline.hpp"
#include "quern/gpu/worker/window_copies.hpp"
#include "quern/gpu/worker/work_clock.hpp"
#include "quern/search/intersect.hpp"

namespace quern {

/// What GPUs did with intersections, and where the time went. Times of several GPUs are added.
struct GpuIntersectionStatistics {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t windows = 0;   ///< of documents, in batches whose lists did not fit the GPU's memory together
  std::uint64_t on_cpu = 0;    ///< queries too large for the GPU's memory, which the CPU answered
  std::uint64_t postings = 0;  ///< in the lists of all queries without a missing term
  std::uint64_t unpacked_lists = 0, unpacked_postings = 0;
  std::uint64_t unpacked_bytes = 0;      ///< of unpacked lists, with directories
  double prepare_us = 0;                 ///< CPU time to find terms and lists and to make batches
  double response_us = 0;                ///< from texts to documents, summed over all batches
  double longest_response_us = 0;        ///< maximum of all batches
  gpu::IntersectTimes device;            ///< of all batches
  gpu::ListCacheCounts lists;            ///< if the GPU has not all lists: what batches needed, and what was copied
  double copy_lists_us = 0;              ///< of the GPU's clock, to copy lists, beside kernels; windows wait for these
  gpu::MemoryTable memory{};             ///< the most memory that was taken for one GPU, by its use
  std::vector<std::string> failed_gpus;  ///< a sentence for each GPU that failed while others went on

  GpuIntersectionStatistics& operator+=(const GpuIntersectionStatistics& other);
};

/// A query on its way to a GPU and back.
struct IntersectionQuery {
  std::size_t number = 0;  ///< in the order of the texts
  std::size_t place = 0;   ///< in the order of answers
  std::string_view text;
  std::vector<PostingList> lists;  ///< if found_lists; empty if no document can match
  bool found_lists = false;
  bool in_batch = false, on_cpu = false;
  bool is_taken = false;  ///< its documents were: a GPU may fail later, and the query come back with others
};

/// What the shares of all GPUs use together.
struct IntersectionContext {
  IntersectionContext(const IndexReader& reader, const GpuIntersectionMethod& used, const GpuIntersectionOptions& how)
      : index(reader),
        cpu(reader, all_intersection_methods().front(), {.text = how.text}),
        method(&used),
        options(how),
        spaces([this] { return Intersection::WorkSpace(cpu); }),
        found_terms(reader) {}

  /// Finds the lists of the queries without found_lists, in many threads.
  void find_lists(std::span<IntersectionQuery* const> queries);
  gpu::ResultTransfer transfer() const { return options.transfer.value_or(method->transfer); }
  bool bucketing() const { return options.bucketing.value_or(method->bucketing); }

  const IndexReader& index;
  const Intersection cpu;
  const GpuIntersectionMethod* method;
  GpuIntersectionOptions options;
  tbb::enumerable_thread_specific<Intersection::WorkSpace> spaces;
  FoundTerms found_terms;
};

/// One GPU's share of intersections: the index and unpacked lists in its memory, and two runners that alternate.
class IntersectShare final : public gpu::GpuShare<IntersectionQuery> {
 public:
  /// Receives a query's documents, a span that is valid until it returns.
  using Take = std::function<void(const IntersectionQuery& query, std::span<const docid_t> documents)>;

  /// Copies the index to the GPU, or what its memory holds. Throws as DeviceIndex and ListStore do.
  IntersectShare(IntersectionContext& context, unsigned gpu, Progress& progress);

  unsigned gpu() const override { return index_.gpu(); }
  /// GPU memory that stays taken: rows, and lists or the room for them.
  std::uint64_t device_bytes() const { return index_.account().taken(); }
  /// The most memory that was taken, by its use.
  gpu::MemoryTable memory() const;
  /// Allocates memory for unpacked lists if the context's method needs it. Drops unpacked lists unless `keep_unpacked`.
  void prepare_method(bool keep_unpacked);
  /// Sets what receives the documents of later queries.
  void set_take(Take take) { take_ = std::move(take); }
  /// Returns what was done since the last call.
  GpuIntersectionStatistics take_statistics() {
    counted_.memory = memory();
    return std::exchange(counted_, {});
  }

 private:
  /// Where a query goes.
  enum class Placement : std::uint8_t {
    no_match,    ///< nowhere: a term is missing
    added,       ///< into this batch
    next_batch,  ///< into the next batch: this one has too little memory for results left
    no_room,     ///< nowhere yet: unpacked lists leave too little memory for it
    on_cpu,      ///< to the CPU: the query is too large for the GPU's memory
  };

  struct Flight {
    explicit Flight(gpu::IntersectRunner of) : runner(std::move(of)) {}

    gpu::IntersectRunner runner;
    std::vector<std::uint32_t> places;            ///< see IntersectArrays; empty if there is no batch
    std::unique_ptr<gpu::WindowedBatch> windows;  ///< null if the batch does not go by windows of documents
    gpu::WindowCopies copies;                     ///< of these windows
    WallClock::time_point started;
  };

  std::size_t launch(unsigned number, std::span<IntersectionQuery* const> queries) override;
  void land(unsigned number, std::span<IntersectionQuery* const> queries) override;
  void abandon() noexcept override;

  /// Makes and starts a batch of the first of these queries. Throws GpuOutOfMemory.
  std::size_t start_batch(Flight& flight, unsigned number, std::span<IntersectionQuery* const> queries);
  /// The same for a batch whose lists fit; `end`: why `count` queries are in it, and no more.
  std::size_t start_whole(unsigned number, std::span<IntersectionQuery* const> queries, std::size_t count,
                          Placement end);
  /// Starts a batch whose lists do not fit the GPU's memory together. Returns its queries; none, and nothing started,
  /// if the blocks of a range of documents do not fit either. Throws GpuOutOfMemory.
  std::size_t start_by_windows(unsigned number, std::span<IntersectionQuery* const> queries);
  /// Whether batches may go by windows.
  bool may_use_windows() const { return store_ && index_.division().resident_rows; }
  /// How each window's lists are unpacked; coded if they are not.
  gpu::ListFormat format_in_windows() const;
  /// Opens the store's room for the windows of a flight, once all windows have been copied. Throws GpuOutOfMemory.
  void open_windows(unsigned number);
  /// The runner whose kernels come before those of the flight; null if there is none.
  const gpu::IntersectRunner* runner_before(unsigned number) const {
    return last_runner_ == &flights_[number].runner ? nullptr : last_runner_;
  }
  /// Ends the use of what the flight's batch has of lists.
  void release(unsigned number);
  /// Brings the batch's lists to the GPU. Throws GpuOutOfMemory.
  void bring_lists(unsigned number);
  /// Waits until no other flight's kernels read lists.
  void free_lists_of_others(unsigned number);
  void begin_batch(unsigned number);
  gpu::PartSizes part_sizes() const;
  /// Adds queries to a batch until one is to go into the next batch, or has no room; sets `end` to that. Returns how
  /// many have a place.
  std::size_t add(gpu::IntersectBatch& batch, std::span<IntersectionQuery* const> queries, Placement& end) const;
  Placement add(gpu::IntersectBatch& batch, const IntersectionQuery& query) const;
  /// Adds the query to the empty batch once the memory for unpacked lists is its own, or leaves it to the CPU if its
  /// lists still don't fit.
  void add_with_all_memory(IntersectionQuery& query, unsigned number);
  void count_unpacked(const gpu::UnpackCounts& counts);
  /// Waits for a flight's windows, and returns what each of its queries found. Throws GpuOutOfMemory.
  std::vector<std::vector<docid_t>> land_windows(Flight& flight);
  /// Answers a batch's queries anew, fewer at a time: there was too little pinned memory for their results.
  void answer_in_parts(unsigned number, std::span<IntersectionQuery* const> queries);
  void answer_on_cpu(IntersectionQuery& query);
  void take(IntersectionQuery& query, std::span<const docid_t> documents);
  /// Maximum words for the results of a batch.
  std::uint64_t max_words() const;

  IntersectionContext& context_;
  gpu::DeviceIndex index_;
  std::optional<gpu::ListStore> store_;  ///< none: the whole index is on the GPU
  std::uint64_t unpacked_words_ = 0;     ///< of the memory for unpacked lists
  gpu::UnpackedMemory unpacked_memory_;
  gpu::UnpackedLists unpacked_;
  gpu::IntersectBatch batch_;  ///< the batch that is being made
  std::vector<Flight> flights_;
  gpu::BatchGrowth growth_;
  gpu::WorkClock making_;                              ///< of a batch
  const gpu::IntersectRunner* last_runner_ = nullptr;  ///< the one that started last
  Take take_;
  GpuIntersectionStatistics counted_;
};

}  // namespace quern
