#pragma once
#include "quern/gpu/device/memory_division.hpp"

namespace quern {
namespace gpu {

/// Adds the given members of `from` to those of `to`, and returns `to`.
template <class T, class... Members>
T& add_members(T& to, const T& from, Members T::*... members) {
  ((to.*members += from.*members), ...);
  return to;
}

/// Counts of lists that batches needed and copied, in bytes of words, impacts and block rows.
struct ListCacheCounts {
  std::uint64_t lists = 0, resident_lists = 0;
  std::uint64_t bytes = 0, copied_bytes = 0;
  std::uint64_t direct_bytes = 0;  ///< part of copied_bytes: read by the GPU from the mapped index file
  std::uint64_t in_place_lists = 0, in_place_bytes = 0;  ///< lists whose blocks kernels read in the mapped file
  std::uint64_t evicted_lists = 0;
  std::uint64_t cut_lists = 0, cut_bytes = 0;  ///< lists of which a batch read only the front, and the bytes after it

  ListCacheCounts& operator+=(const ListCacheCounts& other) {
    using T = ListCacheCounts;
    return add_members(*this, other, &T::lists, &T::resident_lists, &T::bytes, &T::copied_bytes, &T::direct_bytes,
                       &T::in_place_lists, &T::in_place_bytes, &T::evicted_lists, &T::cut_lists, &T::cut_bytes);
  }
};

/// Decoded lists that batches needed, each once per batch.
struct EntryCounts {
  std::uint64_t lists = 0;
  std::uint64_t kept_lists = 0;  ///< part of these: decoded by an earlier batch

  EntryCounts& operator+=(const EntryCounts& other) {
    return add_members(*this, other, &EntryCounts::lists, &EntryCounts::kept_lists);
  }
};

/// A batch's times by the GPU's clock, in microseconds.
struct BatchTimes {
  double upload_us = 0;  ///< 0 for batches of few queries that don't wait: it is a part of the next step
  /// Lists to entries; 0 for small batches of intersections, which read the lists directly. For `partition`: cursors.
  double decode_us = 0;
  /// Entries or lists to candidates. All kernels for strategies without these steps, for few queries, for several tiles
  /// of `ding`, and for windows, without waits for copies.
  double unite_us = 0;
  double finish_us = 0;  ///< candidates to results
  double download_us = 0;
  double total_us = 0;  ///< from the start of the first step to the end of the last

  double kernels_us() const { return decode_us + unite_us + finish_us; }
  BatchTimes& operator+=(const BatchTimes& other) {
    using T = BatchTimes;
    return add_members(*this, other, &T::upload_us, &T::decode_us, &T::unite_us, &T::finish_us, &T::download_us,
                       &T::total_us);
  }
};

/// A batch's traffic in GPU memory if it uses decoded lists; otherwise 0.
struct BatchCounts {
  /// Bytes of the lists that it decodes: postings, block rows, and impacts or document constants.
  std::uint64_t list_bytes = 0;
  std::uint64_t decoded = 0;  ///< postings of the decoded lists
  std::uint64_t entries = 0;  ///< postings of all its lists, each list once
  std::uint64_t added = 0;    ///< entries that unions without pruning add up

  BatchCounts& operator+=(const BatchCounts& other) {
    using T = BatchCounts;
    return add_members(*this, other, &T::list_bytes, &T::decoded, &T::entries, &T::added);
  }
};

}  // namespace gpu

/// Counts and times of batches. Times of several GPUs are added.
struct GpuWorkStatistics {
  std::uint64_t queries = 0, batches = 0;
  std::uint64_t windows = 0;  ///< of documents, in batches whose lists exceeded the GPU's memory
  /// Queries that the CPU answered: with too many terms or results for a GPU, or too large for its memory.
  std::uint64_t on_cpu = 0;
  double prepare_us = 0;                 ///< CPU time to find terms and lists and to make batches
  gpu::ListCacheCounts lists;            ///< of batches' lists, unless the GPU holds all
  double copy_lists_us = 0;              ///< GPU time of copying lists, concurrent with kernels, without waits
  gpu::MemoryTable memory{};             ///< peak memory of a GPU, by use
  std::uint64_t peak_bytes = 0;          ///< peak memory of a GPU, of all uses together
  std::uint64_t limit_bytes = 0;         ///< that these may not exceed
  std::vector<std::string> failed_gpus;  ///< a sentence for each GPU that failed while others went on

  void note_peak(const gpu::MemoryTable& other, std::uint64_t all, std::uint64_t limit) {
    for (std::size_t use = 0; use < memory.size(); ++use) memory[use] = std::max(memory[use], other[use]);
    peak_bytes = std::max(peak_bytes, all);
    limit_bytes = std::max(limit_bytes, limit);
  }
  GpuWorkStatistics& operator+=(const GpuWorkStatistics& other) {
    using T = GpuWorkStatistics;
    failed_gpus.insert(failed_gpus.end(), other.failed_gpus.begin(), other.failed_gpus.end());
    note_peak(other.memory, other.peak_bytes, other.limit_bytes);
    return gpu::add_members(*this, other, &T::queries, &T::batches, &T::windows, &T::on_cpu, &T::prepare_us, &T::lists,
                            &T::copy_lists_us);
  }
};

/// Counts and times of ranked queries.
struct GpuStatistics : GpuWorkStatistics {
  std::uint64_t run_again = 0;       ///< queries that had more candidates than a GPU stores
  std::uint64_t ended_on_front = 0;  ///< queries that a GPU answered with only the front of some list
  std::uint64_t resumed = 0;         ///< queries that the CPU resumed where such a front ends
  double resume_us = 0;              ///< CPU time for these, of all threads
  gpu::BatchTimes device;            ///< of all batches
  gpu::BatchCounts counts;           ///< of all batches
  gpu::EntryCounts entries;          ///< decoded lists that batches needed

  GpuStatistics& operator+=(const GpuStatistics& other) {
    using T = GpuStatistics;
    GpuWorkStatistics::operator+=(other);
    return gpu::add_members(*this, other, &T::run_again, &T::ended_on_front, &T::resumed, &T::resume_us, &T::device,
                            &T::counts, &T::entries);
  }
};

}  // namespace quern
