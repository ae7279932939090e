#include "quern/search/list_blocks.hpp"

#include <algorithm>

namespace quern {

ListBlocks::ListBlocks(const ScoringContext& context, const PostingList& list)
    : reader_(*context.index, list, &context.statistics->blocks_decoded), block_size_(context.index->block_size()) {
  restart(0);
}

void ListBlocks::restart(docid_t docid) {
  const auto last = reader_.list().block_last;
  block_ = search_rows(last, 0, docid);
  if (block_ == reader_.num_blocks()) {
    next_ = end_docid;
  } else if (reader_.holds(block_)) {
    next_ = reader_.docids().front();
  } else {
    next_ = block_ == 0 ? 0 : last[block_ - 1] + 1;
  }
}

bool ListBlocks::search(docid_t docid) {
  block_ = reader_.num_blocks() == 1 ? 1 : search_rows(reader_.list().block_last, block_ + 1, docid);
  if (block_ == reader_.num_blocks()) {
    next_ = end_docid;
    return false;
  }
  next_ = reader_.last(block_ - 1) + 1;
  return true;
}

docid_t ListBlocks::end_of_postings(docid_t docid, std::size_t postings) const {
  if (at_end()) return end_docid;
  if (reader_.num_blocks() == 1) return reader_.size() <= postings ? end_docid : docid;
  const std::size_t blocks = postings / block_size_;
  if (blocks == 0) return docid;
  // Starts at the block that move_to() would find, so that a damaged row can't lengthen the range.
  const docid_t next = std::max(docid, next_);
  const auto last_docids = reader_.list().block_last;
  const std::size_t first = last() >= next ? block_ : search_rows(last_docids, block_ + 1, next);
  if (last_docids.size() - first < blocks) return end_docid;
  return std::max(docid, last_docids[first + blocks - 1] + 1);
}

void ListBlocks::leave() {
  const bool more = block_ + 1 < reader_.num_blocks();
  next_ = more ? last() + 1 : end_docid;
  ++block_;
}

bool ListBlocks::enter() {
  if (reader_.holds(block_)) return false;
  reader_.load(block_);
  return true;
}

}  // namespace quern
