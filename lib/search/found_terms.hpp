#pragma once
#include <tbb/concurrent_unordered_map.h>

#include "quern/formats/index_file.hpp"

namespace quern {

/// Caches the posting lists of terms: a lookup decodes half a lexicon block on average, and queries repeat terms.
/// Thread-safe.
class FoundTerms {
 public:
  /// Maximum memory per cached term.
  static constexpr std::uint64_t term_bytes = 320;
  static constexpr std::size_t default_terms = 1 << 15;

  /// The index must outlive it. It caches the first `max_terms` terms it sees, except long ones.
  explicit FoundTerms(const IndexReader& index, std::size_t max_terms = default_terms)
      : index_(index), max_terms_(max_terms) {}

  /// As IndexReader::find().
  std::optional<PostingList> find(const std::string& term) {
    if (const auto known = lists_.find(term); known != lists_.end()) return known->second;
    std::optional<PostingList> list = index_.find(term);
    if (term.size() <= longest_term && lists_.size() < max_terms_) lists_.emplace(term, list);
    return list;
  }

 private:
  static constexpr std::size_t longest_term = 40;
  /// The entry, the hash table's links, and a term stored on the heap.
  static_assert(sizeof(std::pair<const std::string, std::optional<PostingList>>) + longest_term + 1 +
                    5 * sizeof(void*) <=
                term_bytes);

  const IndexReader& index_;
  std::size_t max_terms_;
  tbb::concurrent_unordered_map<std::string, std::optional<PostingList>> lists_;
};

}  // namespace quern
