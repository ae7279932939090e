#pragma once
#include "quern/query/block_reader.hpp"

namespace quern {

/// Goes over one posting list, forwards, posting by posting. docid() is end_docid behind the last posting; next() and
/// freq() may not be called there. Blocks are passed over by their greatest docID without being decoded, and
/// frequencies are read only when they are asked for.
class PostingCursor {
 public:
  PostingCursor(const IndexReader& index, const PostingList& list, QueryStatistics* statistics = nullptr)
      : reader_(index, list, statistics) {
    enter(0);
  }

  docid_t docid() const { return docid_; }
  std::uint64_t df() const { return reader_.list().df; }
  freq_t freq() { return reader_.freq(place_); }
  /// The block at hand, and where in it the cursor stands.
  BlockReader& reader() { return reader_; }
  unsigned place() const { return place_; }
  void next() {
    if (++place_ < reader_.size()) {
      docid_ = reader_.docids()[place_];
    } else {
      enter(reader_.block() + 1);
    }
  }
  /// To a later posting of the block at hand.
  void move_to(unsigned place) {
    place_ = place;
    docid_ = reader_.docids()[place];
  }
  /// To the first posting with docID `target` or more; stays where it is already there.
  void next_geq(docid_t target);

 private:
  void enter(std::size_t block);

  BlockReader reader_;
  unsigned place_ = 0;  ///< in the block
  docid_t docid_ = 0;
};

}  // namespace quern
