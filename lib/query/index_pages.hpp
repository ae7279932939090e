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
  IndexPages(const IndexReader& index, std::uint64_t budget_bytes, const ForwardReader* forward = nullptr);

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
  void measure() const;

  const IndexReader& index_;
  const ForwardReader* forward_;
  std::uint64_t budget_bytes_;
  bool is_limited_;  ///< false if the whole files fit
  std::uint64_t bytes_per_measurement_;
  std::atomic<std::uint64_t> notes_ = 0, bytes_ = 0;
};

}  // namespace quern
