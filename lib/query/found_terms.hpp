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
  /// The index must outlive it. It remembers the first `max_terms` terms that it is asked for, and takes some 250 bytes
  /// for each.
  explicit FoundTerms(const IndexReader& index, std::size_t max_terms = default_terms)
      : index_(index), max_terms_(max_terms) {}

  /// As IndexReader::find().
  std::optional<PostingList> find(const std::string& term) {
    if (const auto known = lists_.find(term); known != lists_.end()) return known->second;
    std::optional<PostingList> list = index_.find(term);
    if (lists_.size() < max_terms_) lists_.emplace(term, list);
    return list;
  }

 private:
  static constexpr std::size_t default_terms = 1 << 15;

  const IndexReader& index_;
  std::size_t max_terms_;
  tbb::concurrent_unordered_map<std::string, std::optional<PostingList>> lists_;
};

}  // namespace quern
