#pragma once
#include <atomic>
#include <limits>
#include <mutex>

#include "quern/formats/forward_file.hpp"
#include "quern/formats/index_file.hpp"

namespace quern {

/// Keeps the memory of running queries within a budget. A query of usual size fits its thread's share; larger ones run
/// one at a time, and those that exceed the budget throw.
class QueryMemory {
 public:
  /// No limit.
  QueryMemory() = default;
  /// `bytes`: for all threads together. Throws OutOfMemory.
  QueryMemory(std::uint64_t bytes, unsigned threads);
  /// The smallest budget that admits a query of `query_bytes`.
  static std::uint64_t bytes_for(std::uint64_t query_bytes) { return (query_bytes + 2) / 3 * 4; }

  /// Memory for terms that are cached for later queries.
  std::uint64_t for_terms() const { return for_terms_; }
  /// Memory for bitmaps of lists that later queries use again.
  std::uint64_t for_bitmaps() const { return for_bitmaps_; }
  /// Maximum bytes of a query that runs beside others, and of one that runs alone.
  std::uint64_t max_share() const { return max_share_; }
  std::uint64_t max_alone() const { return max_alone_; }

  /// One query's claim on memory, released when it ends: after the memory, so declare it before what it covers.
  class Claim {
   public:
    explicit Claim(const QueryMemory& memory) : memory_(memory) {}
    /// Returns the memory of a query that ran alone to the system, since the next one may use another heap of malloc's.
    ~Claim();
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    /// Call before the query's total reaches `bytes`. May wait for another large query. Throws InvalidArgument if the
    /// budget is too small.
    void raise_to(std::uint64_t bytes);
    /// Claims enough for the words of a query's text, each of which is at least one letter and a separator.
    void raise_to_words_of(std::string_view text) { raise_to((text.size() + 1) / 2 * bytes_per_word); }

    /// Whether the query runs alone; its buffers should not outlive it then.
    bool is_alone() const { return alone_.owns_lock(); }

   private:
    static constexpr std::uint64_t bytes_per_word = 32;

    const QueryMemory& memory_;
    std::unique_lock<std::mutex> alone_;
  };

 private:
  static constexpr std::uint64_t max_for_terms = std::uint64_t{10} << 20;

  std::uint64_t for_terms_ = max_for_terms;
  std::uint64_t for_bitmaps_ = std::uint64_t{1} << 30;
  std::uint64_t max_share_ = std::numeric_limits<std::uint64_t>::max();  ///< per concurrent query
  std::uint64_t max_alone_ = std::numeric_limits<std::uint64_t>::max();
  std::unique_ptr<std::mutex> large_;  ///< held by a large query; null without a limit
};

/// Keeps the resident pages of mapped files within a budget while queries run: pages that queries touch stay resident
/// until they are released. Thread-safe.
class IndexPages {
 public:
  /// The index must outlive the object. The budget covers all files that the process maps.
  IndexPages(const IndexReader& index, std::uint64_t budget_bytes) : IndexPages({&index, 1}, {}, budget_bytes) {}
  /// For all shards of an index, and their forward files if a second stage reads them.
  IndexPages(std::span<const IndexReader> shards, std::span<const ForwardReader> forwards, std::uint64_t budget_bytes);

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

  std::span<const IndexReader> shards_;
  std::span<const ForwardReader> forwards_;
  std::uint64_t budget_bytes_;
  bool is_limited_;  ///< false if the whole files fit
  std::uint64_t bytes_per_measurement_;
  std::atomic<std::uint64_t> notes_ = 0, bytes_ = 0;
  std::atomic_flag measuring_;  ///< set while a thread measures; others skip it
};

}  // namespace quern
