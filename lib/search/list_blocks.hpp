#pragma once
#include "quern/formats/posting_reader.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/kernels.hpp"

namespace quern {

/// A position in one list of a query, which moves from block to block by the block rows, and decodes only blocks that
/// are entered.
class ListBlocks {
 public:
  ListBlocks(const ScoringContext& context, const PostingList& list);

  BlockReader& reader() { return reader_; }
  const BlockReader& reader() const { return reader_; }
  /// The current block: the first that may have remaining postings; the number of blocks at the end.
  std::size_t block() const { return block_; }
  /// Its last docID; there must be a current block.
  docid_t last() const { return reader_.last(block_); }
  bool at_end() const { return next_ == end_docid; }
  /// Lower bound of the docIDs of the remaining postings; end_docid at the end.
  docid_t next_docid() const { return next_; }
  /// For one who has read postings of the current block: all below `next` are done.
  void set_next(docid_t next) { next_ = next; }

  /// Moves to the first block that may contain docIDs from `docid` on, forwards or back.
  void restart(docid_t docid);
  /// The same, forwards only; false if there is none.
  bool move_to(docid_t docid) {
    if (at_end()) return false;
    return last() >= docid || search(docid);
  }
  /// Where a range of documents from `docid` on ends that has `postings` of the remaining ones at most, and ends with a
  /// block: `docid` if one block has more, end_docid if there are no more. Decodes nothing.
  docid_t end_of_postings(docid_t docid, std::size_t postings) const;
  /// Moves to the next block.
  void leave();
  /// Decodes the current block; returns whether it was not decoded before.
  bool enter();
  BlockDocids docids() const { return {reader_.docids().data(), reader_.size()}; }

 private:
  bool search(docid_t docid);

  BlockReader reader_;
  docid_t next_ = 0;
  std::size_t block_ = 0;
  unsigned block_size_;
};

}  // namespace quern
