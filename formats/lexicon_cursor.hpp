#pragma once
#include <string>
#include <vector>

#include "quern/formats/index_file.hpp"

namespace quern {

/// Iterates over an index's lists in term order, one lexicon block at a time.
class LexiconCursor {
 public:
  /// Starts before the first list. The index must outlive it.
  explicit LexiconCursor(const IndexReader& index) : index_(&index) {}
  /// Moves to the next list; false at the end.
  bool next() {
    if (++place_ < lists_.size()) return true;
    names_.clear();
    name_ends_.assign(1, 0);
    lists_.clear();
    place_ = 0;
    if (next_block_ == index_->num_lexicon_blocks()) return false;
    index_->for_each_list(next_block_++, [&](std::string_view term, const PostingList& list) {
      names_ += term;
      name_ends_.push_back(names_.size());
      lists_.push_back(list);
    });
    return !lists_.empty();
  }
  /// The view is valid until the next call of next().
  std::string_view term() const {
    return std::string_view(names_).substr(name_ends_[place_], name_ends_[place_ + 1] - name_ends_[place_]);
  }
  const PostingList& list() const { return lists_[place_]; }
  const IndexReader& index() const { return *index_; }

 private:
  const IndexReader* index_;
  std::uint64_t next_block_ = 0;
  std::size_t place_ = 0;
  std::string names_;                   ///< the block's terms, concatenated
  std::vector<std::size_t> name_ends_;  ///< ends of the terms in names_, after a 0
  std::vector<PostingList> lists_;
};

}  // namespace quern
