#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "quern/cache/cache_blocks.hpp"
#include "quern/cache/list_demand.hpp"

/// Which fronts of lists are kept in GPU memory (Wang et al. 3.3).
namespace quern {

/// What a policy admits, within a budget.
class CacheAdmission {
 public:
  /// What was admitted of a list.
  struct Prefix {
    std::uint64_t blocks = 0, bytes = 0;
  };

  /// `max_admission`: lambda, above 0 and at most 1. Of each list at most max(one block, lambda · length) postings are
  /// admitted. Throws InvalidArgument where it is out of range.
  CacheAdmission(const CacheBlocks& blocks, std::uint64_t budget_bytes, double max_admission);

  const CacheBlocks& blocks() const { return blocks_; }
  /// Caching blocks that may be admitted of a list.
  std::uint64_t admissible(const PostingList& list) const;
  /// The list's next block, if there is one that fits. If not, the list is closed: room only gets less.
  bool admit_next(const PostingList& list);
  /// All that is admissible of a list, or nothing where that does not fit.
  void admit_whole(const PostingList& list);
  /// Admitted so far.
  std::uint64_t blocks_of(term_t term) const {
    const auto found = lists_.find(term);
    return found == lists_.end() ? 0 : found->second.blocks;
  }
  std::uint64_t bytes() const { return bytes_; }
  const std::map<term_t, Prefix>& lists() const { return lists_; }

 private:
  bool admit(const PostingList& list, const Prefix& before, std::uint64_t blocks);

  const CacheBlocks& blocks_;
  std::uint64_t budget_, bytes_ = 0;
  double max_admission_;
  std::map<term_t, Prefix> lists_;
};

struct CachePolicy {
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Admits blocks of the index's lists. First what the log asks for; then the rest, which costs nothing as long as
  /// there is room.
  void (*admit)(const IndexReader& index, const LogDemand& demand, CacheAdmission& admission) = nullptr;
};

/// All policies, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<const CachePolicy*>& all_cache_policies();

/// Throws InvalidArgument, with the names there are, where no policy is called so.
const CachePolicy& cache_policy_named(std::string_view name);

}  // namespace quern
