#pragma once
#include <tbb/concurrent_unordered_map.h>

#include <cstddef>
#include <optional>
#include <string>

#include "quern/formats/index_file.hpp"

namespace quern {

/// Remembers where an index has the lists of terms: looking a term up decodes half of a block of the lexicon, and a log
/// asks for the same terms again and again. Thread-safe.
class FoundTerms {
 public:
  /// What a term that it remembers takes, at most.
  static constexpr std::uint64_t term_bytes = 320;
  static constexpr std::size_t default_terms = 1 << 15;

  /// The index must outlive it. It remembers the first `max_terms` terms that it is asked for, but no long ones.
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
  /// The entry, the links of a hash table, and a term that takes memory of its own.
  static_assert(sizeof(std::pair<const std::string, std::optional<PostingList>>) + longest_term + 1 +
                    5 * sizeof(void*) <=
                term_bytes);

  const IndexReader& index_;
  std::size_t max_terms_;
  tbb::concurrent_unordered_map<std::string, std::optional<PostingList>> lists_;
};

}  // namespace quern
