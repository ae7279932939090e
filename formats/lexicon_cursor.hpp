#pragma once
#include <string>
#include <vector>

#include "quern/formats/index_file.hpp"

namespace quern {

/// Goes over the lists of an index in the order of their terms, a block of the lexicon at a time.
class LexiconCursor {
 public:
  /// Before the first. The index must outlive it.
  explicit LexiconCursor(const IndexReader& index) : index_(&index) {}
  /// Goes to the next list; false at the end.
  bool next() {
    if (++place_ < terms_.size()) return true;
    terms_.clear();
    lists_.clear();
    place_ = 0;
    if (next_block_ == index_->num_lexicon_blocks()) return false;
    index_->for_each_list(next_block_++, [&](std::string_view term, const PostingList& list) {
      terms_.emplace_back(term);
      lists_.push_back(list);
    });
    return !terms_.empty();
  }
  std::string_view term() const { return terms_[place_]; }
  const PostingList& list() const { return lists_[place_]; }
  const IndexReader& index() const { return *index_; }

 private:
  const IndexReader* index_;
  std::uint64_t next_block_ = 0;
  std::size_t place_ = 0;
  std::vector<std::string> terms_;
  std::vector<PostingList> lists_;
};

}  // namespace quern
