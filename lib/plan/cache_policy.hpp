#pragma once
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "quern/plan/cache_blocks.hpp"
#include "quern/plan/log_demand.hpp"

/// Policies that choose which list prefixes are cached in GPU memory (Wang et al. 3.3, Huang et al.).
namespace quern {

/// A list and its number of postings.
struct LengthOfList {
  std::uint32_t length = 0;
  term_t term = 0;
};

/// The prefixes that a policy has admitted, within a budget. Takes 4 bytes per term of the index.
class CacheAdmission {
 public:
  /// `max_admission`: lambda, above 0 and at most 1. At most max(one block, lambda · length) postings of each list are
  /// admitted. `budget_rows`: block rows of lists, which all come with a list's first block; none: they have no limit.
  /// Throws InvalidArgument if max_admission is out of range.
  CacheAdmission(const CacheBlocks& blocks, std::uint64_t budget_bytes, double max_admission,
                 std::optional<std::uint64_t> budget_rows = {});

  const CacheBlocks& blocks() const { return blocks_; }
  /// How many caching blocks of a list may be admitted: none of one that a GPU does not keep.
  std::uint64_t admissible(const PostingList& list) const;
  /// Admits the list's next block if there is one and it fits. If not, the list is complete: free space only shrinks.
  bool admit_next(const PostingList& list);
  /// Admits all that is admissible of a list, or nothing if that does not fit.
  void admit_whole(const PostingList& list);
  /// Blocks of a list that have been admitted.
  std::uint64_t blocks_of(term_t term) const { return admitted_[term]; }
  std::uint64_t bytes() const { return bytes_; }
  /// Lists of which something is admitted.
  std::size_t num_lists() const { return num_lists_; }

 private:
  bool admit(const PostingList& list, std::uint64_t blocks);

  const CacheBlocks& blocks_;
  std::uint64_t budget_, bytes_ = 0;
  std::uint64_t budget_rows_, rows_ = 0;
  double max_admission_;
  std::vector<std::uint32_t> admitted_;  ///< blocks, by term
  std::size_t num_lists_ = 0;
};

struct CachePolicy {
  std::string_view name;
  /// One line for help texts.
  std::string_view description;
  /// Admits blocks of the index's lists. A policy that looks at the log begins with what the log reads, and goes on
  /// with other lists while there is space, which costs nothing.
  void (*admit)(const LogDemand& demand, CacheAdmission& admission) = nullptr;
};

/// All policies, in the order in which help texts show them; the first is the default. The one place to add one.
const std::vector<const CachePolicy*>& all_cache_policies();

/// Throws InvalidArgument, with all names, if no policy has this name.
const CachePolicy& cache_policy_named(std::string_view name);

}  // namespace quern
