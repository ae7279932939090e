#pragma once
#include "quern/plan/log_demand.hpp"

/// Policies that choose which list prefixes are cached in GPU memory (Wang et al. 3.3, Huang et al.).
namespace quern {

/// A list and its number of postings.
struct LengthOfList {
  std::uint32_t length = 0;
  term_t term = 0;
};

/// The list prefixes that a policy has admitted within a budget. Takes 4 bytes per term of the index.
class CacheAdmission {
 public:
  /// `max_admission`: lambda, above 0 and at most 1. Admits at most max(one block, lambda · length) postings of each
  /// list. `budget_rows`: limit of block rows; a list's first block needs all of its rows. Throws InvalidArgument if
  /// max_admission is out of range.
  CacheAdmission(const CacheBlocks& blocks, std::uint64_t budget_bytes, double max_admission,
                 std::optional<std::uint64_t> budget_rows = {});

  const CacheBlocks& blocks() const { return blocks_; }
  /// The number of caching blocks of a list that may be admitted; 0 if GPUs don't cache the list.
  std::uint64_t admissible(const PostingList& list) const;
  /// Admits the list's next block if there is one and it fits; false if not. The list is then complete, since free
  /// space only shrinks.
  bool admit_next(const PostingList& list);
  /// Admits all admissible blocks of a list, or none if they do not fit.
  void admit_whole(const PostingList& list);
  /// The number of admitted blocks of a list.
  std::uint64_t blocks_of(term_t term) const { return admitted_[term]; }
  std::uint64_t bytes() const { return bytes_; }
  /// The number of lists with admitted blocks.
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
  /// Admits blocks of the index's lists. Policies that use the log admit what it reads first, and then other lists
  /// while there is space, which costs nothing.
  void (*admit)(const LogDemand& demand, CacheAdmission& admission) = nullptr;
};

/// All policies, in the order of help texts; the first is the default. Add new ones here.
const std::vector<const CachePolicy*>& all_cache_policies();

/// Throws InvalidArgument, listing all names, if there is no such policy.
const CachePolicy& cache_policy_named(std::string_view name);

}  // namespace quern
