#pragma once
#include <memory>
#include <span>
#include <vector>

#include "quern/gpu/device/device_index.hpp"
#include "quern/gpu/engine/pruning.hpp"
#include "quern/gpu/engine/query_batch.hpp"
#include "quern/gpu/strategy.hpp"

/// Runs batches of queries on a GPU. Declared without CUDA, as DeviceIndex is.
namespace quern::gpu {

/// What a GPU does with a batch.
struct BatchWork {
  bool intersect = false;           ///< documents with all terms, not with any
  Pruning pruning = Pruning::none;  ///< of unions
  std::size_t k = 10;
};

/// Results per query, at most.
inline constexpr std::size_t max_results = 2048;

/// Where a batch's time went, in microseconds of the GPU's clock.
struct BatchTimes {
  double upload_us = 0;
  double decode_us = 0;  ///< lists to entries; 0 where a few intersections look into the lists themselves
  double unite_us = 0;   ///< to candidates, of intersections too; all of it with strategies of their own
  double finish_us = 0;  ///< from candidates to results
  double download_us = 0;
  double total_us = 0;  ///< from the batch's first step to its last, with what lies between them

  double kernels_us() const { return decode_us + unite_us + finish_us; }
  BatchTimes& operator+=(const BatchTimes& other) {
    upload_us += other.upload_us;
    decode_us += other.decode_us;
    unite_us += other.unite_us;
    finish_us += other.finish_us;
    download_us += other.download_us;
    total_us += other.total_us;
    return *this;
  }
};

/// What a batch asks of a GPU's memory, where it decodes its lists; else 0.
struct BatchCounts {
  std::uint64_t list_bytes = 0;  ///< of its lists, each once: postings, block rows and what values are made of
  std::uint64_t entries = 0;     ///< postings of its lists, each list once
  std::uint64_t added = 0;       ///< entries that unions without pruning add up

  BatchCounts& operator+=(const BatchCounts& other) {
    list_bytes += other.list_bytes;
    entries += other.entries;
    added += other.added;
    return *this;
  }
};

/// A query's answer, or what there is of it.
struct BatchAnswer {
  std::vector<ScoredDocument> documents;
  bool complete = true;         ///< else too many documents came into question
  std::uint32_t min_units = 0;  ///< then: no result has fewer; run it again with that
};

/// One batch at a time, in a stream of its own: with two of them one is copied while the other is answered. Throws
/// CudaError where the GPU fails, CorruptFile where blocks don't decode.
class BatchRunner {
 public:
  /// Throws CudaError where the strategy's room doesn't fit.
  explicit BatchRunner(const DeviceIndex& index, const Strategy& strategy = all_strategies().front(),
                       const StrategyOptions& options = {});
  BatchRunner(BatchRunner&&) noexcept;
  ~BatchRunner();

  /// Returns as soon as all is on its way. Kernels wait for those of `after`, where it is given: a GPU that two batches
  /// share does neither of them sooner.
  void start(const QueryBatch& batch, const BatchWork& work, const BatchRunner* after = nullptr);
  /// Waits for the batch.
  void wait();
  /// Then: the answer to a query, by its place in the batch. Any threads may ask at the same time.
  BatchAnswer answer(std::uint32_t place) const;
  /// Waits for what is under way and forgets it, failures too: the runner may start again if the GPU can.
  void abandon() noexcept;
  const BatchTimes& times() const;
  BatchCounts counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::gpu
