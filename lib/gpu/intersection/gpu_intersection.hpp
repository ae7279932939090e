#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/core/progress.hpp"
#include "quern/gpu/intersection/intersect_runner.hpp"
#include "quern/intersect/intersect.hpp"

namespace quern {

/// What a GPU made of queries, and where the time went.
struct GpuIntersectionStatistics {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t on_cpu = 0;    ///< queries that the CPU answered, since the GPU has no room for them
  std::uint64_t postings = 0;  ///< in the lists of all queries without a missing term
  std::uint64_t unpacked_lists = 0, unpacked_postings = 0;
  std::uint64_t unpacked_bytes = 0;  ///< that they take, directories included
  double prepare_us = 0;             ///< terms, lists and batches, on the CPU
  double response_us = 0;            ///< of all batches, from their texts to their documents, summed up
  double longest_response_us = 0;    ///< of one batch
  gpu::IntersectTimes device;        ///< of all batches

  GpuIntersectionStatistics& operator+=(const GpuIntersectionStatistics& other);
};

/// Finds the documents that have all terms of a query on a GPU: the very documents of Intersection.
class GpuIntersection {
 public:
  /// Copies the index to the GPU. Throws CudaError where there is none, or too little memory on it; InvalidArgument
  /// where the options don't fit the method.
  GpuIntersection(const IndexReader& index, const GpuIntersectionMethod& method, const GpuIntersectionOptions& options,
                  Progress& progress);
  ~GpuIntersection();

  /// Another method, over the same copy of the index. Forgets what is unpacked, unless `keep_unpacked` and the method
  /// unpacks in the same way.
  void use(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options, bool keep_unpacked = false);
  const GpuIntersectionMethod& method() const { return *method_; }
  bool bucketing() const { return options_.bucketing.value_or(method_->bucketing); }

  /// Calls take(i, documents) for each query, in this thread; the documents, which rise, may be looked at until it
  /// returns. In the order of the queries, unless batches are made by length (bucketing()): then by buckets.
  void run(std::span<const std::string_view> texts,
           const std::function<void(std::size_t, std::span<const docid_t>)>& take,
           GpuIntersectionStatistics* statistics = nullptr);
  std::uint64_t device_bytes() const { return index_.bytes(); }

 private:
  struct Prepared;
  struct Flight;
  struct Run;

  /// How a query goes into a batch.
  enum class Fit : std::uint8_t {
    nothing_to_do,  ///< a term is missing
    added,
    next_batch,  ///< there is no room beside the others
    alone,       ///< the batch is empty, but the memory for unpacked lists is not
    never,
  };

  void prepare(Prepared& query, std::string_view text, Intersection::WorkSpace& space) const;
  void prepare(Run& run, std::span<const std::uint32_t> numbers);
  /// Starts a batch with the first of these queries; returns how many it took.
  std::size_t launch(Run& run, Flight& flight, std::span<const std::uint32_t> numbers);
  Fit add(const Prepared& query, std::uint64_t max_words);
  void land(Run& run, Flight& flight);
  void answer_on_cpu(Run& run, std::uint32_t number);
  gpu::PartSizes part_sizes() const;

  const IndexReader& reader_;
  Intersection cpu_;
  QueryEngine engine_;  ///< what DeviceIndex is made of
  const GpuIntersectionMethod* method_;
  GpuIntersectionOptions options_;
  gpu::DeviceIndex index_;
  std::uint64_t unpacked_words_ = 0;  ///< that there is memory for
  gpu::UnpackedMemory unpacked_memory_;
  gpu::UnpackedLists unpacked_;
  gpu::IntersectBatch batch_;  ///< the one that is made
  std::vector<gpu::IntersectRunner> runners_;
  std::vector<Prepared> queries_;                      ///< of a run; later ones use their memory again
  const gpu::IntersectRunner* last_runner_ = nullptr;  ///< the one that began last
};

}  // namespace quern
