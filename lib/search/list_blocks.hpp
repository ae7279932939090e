#pragma once
#include "quern/formats/posting_reader.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/kernels.hpp"

namespace quern {

/// A position in one list of a query. It moves from block to block by the block rows and decodes only blocks that it
/// enters.
class ListBlocks {
 public:
  ListBlocks(const ScoringContext& context, const PostingList& list);

  BlockReader& reader() { return reader_; }
  const BlockReader& reader() const { return reader_; }
  /// The current block: the first that may have remaining postings. The number of blocks if none has.
  std::size_t block() const { return block_; }
  /// The current block's last docID; not at the end.
  docid_t last() const { return reader_.last(block_); }
  bool at_end() const { return next_ == end_docid; }
  /// Lower bound of the docIDs of the remaining postings; end_docid at the end.
  docid_t next_docid() const { return next_; }
  /// Call after reading postings of the current block: all below `next` are done.
  void set_next(docid_t next) { next_ = next; }

  /// Moves to the first block that may contain docIDs from `docid` on, forwards or back.
  void restart(docid_t docid);
  /// Like restart(), but forwards only; false if there is no such block.
  bool move_to(docid_t docid) {
    if (at_end()) return false;
    return last() >= docid || search(docid);
  }
  /// The end of a range of documents from `docid` on that holds at most `postings` remaining postings and ends with a
  /// block: `docid` if one block has more, end_docid if the range covers the rest. Decodes nothing.
  docid_t end_of_postings(docid_t docid, std::size_t postings) const;
  /// Moves to the next block.
  void leave();
  /// Decodes the current block; returns false if it was already decoded.
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
