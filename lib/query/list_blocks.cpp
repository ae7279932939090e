#include "quern/query/list_blocks.hpp"

namespace quern {

ListBlocks::ListBlocks(const ScoringContext& context, const PostingList& list)
    : reader_(*context.index, list, &context.statistics->blocks_decoded) {
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
