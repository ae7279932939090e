#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string_view>

namespace quern {

/// Keeps what queries take in memory while they run within a budget. A query of usual size takes a share of its thread;
/// larger ones run one at a time, and one that needs more than there is, is refused.
class QueryMemory {
 public:
  /// No limit.
  QueryMemory() = default;
  /// `bytes`: for all of `threads` threads. Throws OutOfMemory.
  QueryMemory(std::uint64_t bytes, unsigned threads);
  /// The smallest budget in which a query that takes `query_bytes` runs.
  static std::uint64_t bytes_for(std::uint64_t query_bytes) { return (query_bytes + 2) / 3 * 4; }

  /// What terms may take that queries remember for later ones: set aside of what queries take beside others.
  std::uint64_t for_terms() const { return for_terms_; }
  /// What a query may take beside others, and alone.
  std::uint64_t share() const { return max_share_; }
  std::uint64_t most() const { return max_alone_; }

  /// What one query takes; given back when it ends.
  class Claim {
   public:
    explicit Claim(const QueryMemory& memory) : memory_(memory) {}

    /// To be called before the query takes `bytes` in all. May wait for another large query. Throws InvalidArgument if
    /// the budget is too small for it.
    void raise_to(std::uint64_t bytes);
    /// What the words of a query's text may take: each has at least one letter, and is followed by something else.
    void raise_to_words_of(std::string_view text) { raise_to((text.size() + 1) / 2 * bytes_per_word); }

    /// Whether it is too large to run beside others: then buffers should not outlive it.
    bool is_alone() const { return alone_.owns_lock(); }

   private:
    static constexpr std::uint64_t bytes_per_word = 32;

    const QueryMemory& memory_;
    std::unique_lock<std::mutex> alone_;
  };

 private:
  static constexpr std::uint64_t most_for_terms = std::uint64_t{10} << 20;

  std::uint64_t for_terms_ = most_for_terms;
  std::uint64_t max_share_ = std::numeric_limits<std::uint64_t>::max();  ///< of a query that runs beside others
  std::uint64_t max_alone_ = std::numeric_limits<std::uint64_t>::max();
  std::unique_ptr<std::mutex> large_;  ///< null where there is no limit
};

}  // namespace quern
