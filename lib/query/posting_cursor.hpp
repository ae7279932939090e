#pragma once
#include <array>
#include <memory>

#include "quern/formats/index_file.hpp"

namespace quern {

/// Goes over one posting list, forwards, decoding a block at a time. docid() is end_docid behind the last posting;
/// next() and freq() may not be called there. Blocks are passed over by their greatest docID without being decoded,
/// and frequencies are read only when they are asked for. Throws CorruptFile where decoded docIDs contradict the
/// block's row, so that no docid() is ever num_documents or more, but end_docid.
class PostingCursor {
 public:
  PostingCursor(const IndexReader& index, const PostingList& list);

  docid_t docid() const { return docid_; }
  freq_t freq();
  void next() {
    if (++place_ < size_) {
      docid_ = docids_[place_];
    } else {
      load(block_ + 1);
    }
  }
  /// To the first posting with docID `target` or more; stays where it is already there.
  void next_geq(docid_t target);
  std::uint64_t df() const { return list_.df; }

 private:
  /// Up to so many frequencies of a block are read one by one (D5); then the whole block is decoded.
  static constexpr unsigned single_freqs = 4;

  std::size_t num_blocks() const { return num_blocks_; }
  void load(std::size_t block);
  void load_short_list();
  void decode_block(std::size_t block);
  WordView block_words(std::size_t block) const;
  [[noreturn]] void fail(std::size_t block, const char* why) const;

  const IndexReader* index_;
  PostingList list_;
  std::unique_ptr<ListDecoder> decoder_;  ///< none for short lists
  std::size_t num_blocks_;
  std::size_t first_block_word_ = 0;
  std::size_t block_ = 0;
  unsigned place_ = 0;  ///< in the block
  unsigned size_ = 0;   ///< of the block
  docid_t docid_ = end_docid;
  WordView words_;  ///< of the block
  unsigned freqs_read_ = 0;
  bool freqs_decoded_ = false;
  std::array<docid_t, max_block_size + over_write_values> docids_;
  std::array<freq_t, max_block_size + over_write_values> freqs_;
};

}  // namespace quern
