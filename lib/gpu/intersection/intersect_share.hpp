#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/engine/pipeline.hpp"
#include "quern/gpu/intersection/intersect_runner.hpp"
#include "quern/intersect/intersect.hpp"

namespace quern {

/// What GPUs did with queries, and where the time went. Times of several GPUs add up.
struct GpuIntersectionStatistics {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t on_cpu = 0;    ///< queries that the CPU answered, since the GPU has too little memory for them
  std::uint64_t postings = 0;  ///< in the lists of all queries without a missing term
  std::uint64_t unpacked_lists = 0, unpacked_postings = 0;
  std::uint64_t unpacked_bytes = 0;      ///< that they take, directories included
  double prepare_us = 0;                 ///< terms, lists and batches, on the CPU
  double response_us = 0;                ///< of all batches, from their texts to their documents, summed up
  double longest_response_us = 0;        ///< of one batch
  gpu::IntersectTimes device;            ///< of all batches
  std::vector<std::string> failed_gpus;  ///< which of several GPUs failed, and how; the others did their work

  GpuIntersectionStatistics& operator+=(const GpuIntersectionStatistics& other);
};

/// A query on its way to a GPU and back.
struct IntersectionQuery {
  std::size_t number = 0;  ///< in the order of the texts
  std::size_t place = 0;   ///< in the order in which answers come
  std::string_view text;
  std::vector<PostingList> lists;  ///< once found; empty if nothing can match
  bool found_lists = false;
  bool in_batch = false, on_cpu = false;
};

/// What the shares of all GPUs have in common.
struct IntersectionContext {
  IntersectionContext(const IndexReader& reader, const GpuIntersectionMethod& used, const GpuIntersectionOptions& how)
      : index(reader), cpu(reader, all_intersection_methods().front(), {}), method(&used), options(how), spaces([this] {
          return Intersection::WorkSpace(cpu);
        }) {}

  /// Finds the lists of those queries that have none yet, in many threads.
  void find_lists(std::span<IntersectionQuery* const> queries);
  gpu::ResultTransfer transfer() const { return options.transfer.value_or(method->transfer); }
  bool bucketing() const { return options.bucketing.value_or(method->bucketing); }

  const IndexReader& index;
  const Intersection cpu;
  const GpuIntersectionMethod* method;
  GpuIntersectionOptions options;
  tbb::enumerable_thread_specific<Intersection::WorkSpace> spaces;
};

/// One GPU's share of queries without scores: the index and unpacked lists in its memory, and two runners that take
/// turns.
class IntersectShare final : public gpu::GpuShare<IntersectionQuery> {
 public:
  /// Receives a query's documents, which are valid until it returns.
  using Take = std::function<void(const IntersectionQuery& query, std::span<const docid_t> documents)>;

  /// Copies the index to the GPU. Throws as DeviceIndex does.
  IntersectShare(IntersectionContext& context, unsigned gpu, Progress& progress);

  unsigned gpu() const override { return index_.gpu(); }
  std::uint64_t device_bytes() const { return index_.bytes(); }
  /// Makes memory for unpacked lists if the context's method needs it. Forgets what is unpacked unless `keep_unpacked`.
  void prepare_method(bool keep_unpacked);
  /// Where the next queries' documents go.
  void set_take(Take take) { take_ = std::move(take); }
  /// What was done since the last call.
  GpuIntersectionStatistics take_statistics() { return std::exchange(counted_, {}); }

 private:
  /// How a query goes into a batch.
  enum class Fit : std::uint8_t {
    nothing_to_do,  ///< a term is missing
    added,
    next_batch,  ///< not enough memory beside the other queries
    alone,       ///< the batch is empty, but the memory for unpacked lists is not
    never,
  };

  struct Flight {
    gpu::IntersectRunner runner;
    std::vector<std::uint32_t> places;  ///< see IntersectBatch
    WallClock::time_point begun;
  };

  std::size_t launch(unsigned number, std::span<IntersectionQuery* const> queries) override;
  void land(unsigned number, std::span<IntersectionQuery* const> queries) override;
  void abandon() noexcept override;

  void begin_batch();
  Fit add(const IntersectionQuery& query, std::uint64_t max_words);
  /// Adds the query to the empty batch; everything that is unpacked makes way for it. Kernels of earlier batches run
  /// before those of this one.
  void add_alone(IntersectionQuery& query);
  void count_batch();
  void answer_on_cpu(const IntersectionQuery& query);
  /// Words that a batch's queries may have for what they find.
  std::uint64_t max_words() const;

  IntersectionContext& context_;
  gpu::DeviceIndex index_;
  std::uint64_t unpacked_words_ = 0;  ///< of the memory for unpacked lists
  gpu::UnpackedMemory unpacked_memory_;
  gpu::UnpackedLists unpacked_;
  gpu::IntersectBatch batch_;  ///< the one that is being made
  std::vector<Flight> flights_;
  const gpu::IntersectRunner* last_runner_ = nullptr;  ///< the one that began last
  Take take_;
  GpuIntersectionStatistics counted_;
};

}  // namespace quern
