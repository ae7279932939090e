#pragma once
#include <atomic>
#include <cstdint>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"

namespace quern {

/// Keeps what a process holds of mapped files within a budget while it answers queries: whatever queries read of an
/// index stays in memory until somebody gives it back. Many threads may share one.
class IndexPages {
 public:
  /// The index must outlive the object, and so must its forward file, where a second stage reads that; null: none does.
  /// The budget is for all files that the process has mapped: `other_bytes` are those that others give back.
  IndexPages(const IndexReader& index, std::uint64_t budget_bytes, const ForwardReader* forward = nullptr,
             std::uint64_t other_bytes = 0);

  /// To be called before queries: gives pages back at once if what read the index before has left too many.
  void trim() {
    if (is_limited_) measure();
  }

  /// To be called after each query. Now and then it measures, and gives all pages of the files back if there are too
  /// many; the system reads them again, most often from its own cache, when they are touched.
  void note_query() { note(queries_per_measurement); }
  /// The same after each block of the lexicon, for work that reads all lists.
  void note_block() { note(blocks_per_measurement); }
  /// The same after so many bytes that were read at one place or a few.
  void note_bytes(std::uint64_t bytes);

 private:
  static constexpr std::uint64_t queries_per_measurement = 8, blocks_per_measurement = 1024;
  /// What the system maps around a byte that is touched.
  static constexpr std::uint64_t bytes_per_place = std::uint64_t{64} << 10;

  void note(std::uint64_t per_measurement);
  void measure();

  const IndexReader& index_;
  const ForwardReader* forward_;
  std::uint64_t budget_bytes_;
  bool is_limited_;  ///< false if the whole files fit
  std::uint64_t bytes_per_measurement_;
  std::atomic<std::uint64_t> notes_ = 0, bytes_ = 0;
  std::atomic_flag measuring_;  ///< a thread does; the others need not
};

}  // namespace quern
