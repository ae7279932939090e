#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>

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
  /// Maximum bytes of a query that runs beside others, and of one that runs alone.
  std::uint64_t max_share() const { return max_share_; }
  std::uint64_t max_alone() const { return max_alone_; }

  /// One query's claim on memory, released when it ends.
  class Claim {
   public:
    explicit Claim(const QueryMemory& memory) : memory_(memory) {}

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
  std::uint64_t max_share_ = std::numeric_limits<std::uint64_t>::max();  ///< per concurrent query
  std::uint64_t max_alone_ = std::numeric_limits<std::uint64_t>::max();
  std::unique_ptr<std::mutex> large_;  ///< held by a large query; null without a limit
};

}  // namespace quern
