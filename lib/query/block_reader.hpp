#pragma once
#include <array>
#include <memory>
#include <span>

#include "quern/formats/index_file.hpp"
#include "quern/query/query_statistics.hpp"

namespace quern {

/// Decodes a posting list block by block, in any order; lists of one block hold it from the start. What it hands out is
/// safe to index documents with: docIDs of a decoded block rise, are greater than those of the block before and below
/// num_documents, and end with what the block's row says. Throws CorruptFile otherwise. The docIDs of one block are
/// held at a time, and its frequencies once they are asked for.
class BlockReader {
 public:
  /// Counts in `statistics`, where there are any, each block that is decoded.
  BlockReader(const IndexReader& index, const PostingList& list, QueryStatistics* statistics = nullptr);

  const PostingList& list() const { return list_; }
  std::size_t num_blocks() const { return num_blocks_; }
  /// The block's greatest docID, without decoding it; where the list has but one block, that block is decoded already.
  docid_t last(std::size_t block) const { return num_blocks_ == 1 ? docids_[size_ - 1] : list_.block_last[block]; }

  /// Decodes the block's docIDs, unless they are held already.
  void load(std::size_t block);
  bool holds(std::size_t block) const { return size_ > 0 && block == block_; }
  /// The block at hand, like what follows.
  std::size_t block() const { return block_; }
  unsigned size() const { return size_; }
  std::span<const docid_t> docids() const { return {docids_.data(), size_}; }
  /// All frequencies.
  std::span<const freq_t> freqs();
  /// One frequency: the first few of a block without decoding the others where the codec can (D5).
  freq_t freq(unsigned place) {
    if (freqs_decoded_) return freqs_[place];
    return freqs_read_++ < single_freqs ? decoder_->freq_at(words_, size_, place) : freqs()[place];
  }
  /// Says that `count` single frequencies of the block will be asked for: where they are many, all are decoded at once.
  void expect_freqs(std::size_t count) {
    if (count > single_freqs) freqs_read_ = single_freqs;
  }
  /// All quantized impacts, or one, where the index has them; not of short lists.
  std::span<const std::uint32_t> quantized_impacts();
  std::uint32_t quantized_impact(unsigned place) const;

 private:
  static constexpr unsigned single_freqs = 2;

  void load_short_list();
  WordView block_words(std::size_t block) const;
  /// The decoded docIDs rise, and stand behind those of the block before.
  bool rises(std::size_t block) const;
  [[noreturn]] void fail(std::size_t block, const char* why) const;

  const IndexReader* index_;
  PostingList list_;
  QueryStatistics* statistics_;
  std::unique_ptr<ListDecoder> decoder_;  ///< none for short lists
  std::size_t num_blocks_ = 1;
  std::size_t first_word_ = 0;  ///< of the first block
  std::size_t block_ = 0;
  unsigned size_ = 0;
  WordView words_;
  bool freqs_decoded_ = false;
  unsigned freqs_read_ = 0;  ///< of the block, one by one
  std::array<docid_t, max_block_size + over_write_values> docids_;
  std::array<freq_t, max_block_size + over_write_values> freqs_;
  std::array<std::uint32_t, max_block_size + over_write_values> impacts_;
};

}  // namespace quern
