#pragma once
#include <atomic>
#include <cstdint>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"

namespace quern {

/// Keeps the resident pages of mapped files within a budget while queries run: pages that queries touch stay resident
/// until they are released. Thread-safe.
class IndexPages {
 public:
  /// The index must outlive the object, and so must the forward file, if a second stage reads it (null otherwise). The
  /// budget covers all files that the process maps; `other_bytes` is the size of those that other objects release.
  IndexPages(const IndexReader& index, std::uint64_t budget_bytes, const ForwardReader* forward = nullptr,
             std::uint64_t other_bytes = 0);

  /// Call before queries: releases pages at once if earlier work left too many.
  void trim() {
    if (is_limited_) measure();
  }

  /// Call after each query. Now and then it measures, and releases all pages of the files if too many are resident;
  /// when they are touched again, the system usually finds them in its page cache.
  void note_query() { note(queries_per_measurement); }
  /// Call after each lexicon block in work that reads all lists.
  void note_block() { note(blocks_per_measurement); }
  /// Call after reading `bytes` bytes at one place or a few.
  void note_bytes(std::uint64_t bytes);

 private:
  static constexpr std::uint64_t queries_per_measurement = 8, blocks_per_measurement = 1024;
  /// Bytes that the system maps around a touched byte.
  static constexpr std::uint64_t bytes_per_place = std::uint64_t{64} << 10;

  void note(std::uint64_t per_measurement);
  void measure();

  const IndexReader& index_;
  const ForwardReader* forward_;
  std::uint64_t budget_bytes_;
  bool is_limited_;  ///< false if the whole files fit
  std::uint64_t bytes_per_measurement_;
  std::atomic<std::uint64_t> notes_ = 0, bytes_ = 0;
  std::atomic_flag measuring_;  ///< set while a thread measures; others skip it
};

}  // namespace quern
