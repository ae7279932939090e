#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "quern/core/error.hpp"
#include "quern/core/scratch_memory.hpp"
#include "quern/formats/index_file.hpp"

/// Reading the posting lists of an index: searches in ascending docIDs, blocks in any order (BlockReader), and postings
/// one by one (PostingCursor).
namespace quern {

/// The first place from `from` on whose docID is not below `target`; docids.size() if there is none. Halves the range
/// without branches: targets are as good as random, so a branch would be mispredicted every other time.
inline std::size_t search_block(std::span<const docid_t> docids, std::size_t from, docid_t target) {
  const docid_t* first = docids.data() + from;
  std::size_t size = docids.size() - from;
  if (size == 0) return from;
  while (size > 1) {
    const std::size_t half = size / 2;
    first += half & -static_cast<std::size_t>(first[half - 1] < target);
    size -= half;
  }
  return static_cast<std::size_t>(first - docids.data()) + (*first < target);
}

/// The first row at `from` or after with a docID of at least `target`, or rows.size(), also if rows of a damaged file
/// do not ascend: nothing has checked them. The place is usually near, so steps double until they reach it.
inline std::size_t search_rows(std::span<const docid_t> rows, std::size_t from, docid_t target) {
  std::size_t step = 1;
  while (from + step <= rows.size() && rows[from + step - 1] < target) {
    from += step;
    step *= 2;
  }
  std::size_t row = search_block(rows.first(std::min(from + step, rows.size())), from, target);
  while (row < rows.size() && rows[row] < target) ++row;  // not once if they ascend
  return row;
}

/// Decodes a posting list block by block, in any order; the block of a single-block list is decoded from the start.
/// Documents can safely be indexed by what it returns: the docIDs of a decoded block ascend, are greater than those of
/// the block before, are below num_documents, and end with the docID in the block's row. Throws CorruptFile otherwise.
/// Keeps the docIDs of one block at a time, and its frequencies once they are read.
class BlockReader {
 public:
  /// Adds to *blocks_decoded, unless it is null, each block that is decoded.
  BlockReader(const IndexReader& index, const PostingList& list, std::uint64_t* blocks_decoded = nullptr);

  const PostingList& list() const { return list_; }
  std::size_t num_blocks() const { return num_blocks_; }
  /// The block's last docID, without decoding it (the block of a single-block list is decoded already).
  docid_t last(std::size_t block) const {
    return num_blocks_ == 1 ? decoded_->docids[size_ - 1] : list_.block_last[block];
  }

  /// Decodes the block's docIDs, unless it is the current block.
  void load(std::size_t block);
  bool holds(std::size_t block) const { return size_ > 0 && block == block_; }
  /// The current block; the functions below refer to it.
  std::size_t block() const { return block_; }
  unsigned size() const { return size_; }
  std::span<const docid_t> docids() const { return {decoded_->docids.data(), size_}; }
  /// After them, for searches in wide registers, come this many times end_docid.
  static constexpr std::size_t docid_padding = 16;
  /// All frequencies; of an index with given impacts these, its weights.
  std::span<const freq_t> freqs() { return freqs_of(block_); }
  /// All frequencies of any block; the docIDs stay those of the current one.
  std::span<const freq_t> freqs_of(std::size_t block);
  /// One frequency. The first few of a block are read without decoding the others if the codec can do that.
  freq_t freq(unsigned place) {
    if (block_ == freqs_block_) return decoded_->freqs[place];
    if (freqs_read_++ >= single_freqs) return freqs()[place];
    return single_freq(block_, words_, size_, place);
  }
  /// The frequencies at some places of any block. A few are read without decoding the others.
  void read_freqs(std::size_t block, std::span<const std::uint16_t> places, freq_t* out);
  /// Throws CorruptFile, which names the file, the list and the block.
  [[noreturn]] void fail(std::size_t block, const char* why) const;
  /// All quantized impacts of the block, if the index has them. Not for short lists. They take the place of
  /// frequencies, which have to be decoded again: scores need one or the other.
  std::span<const std::uint32_t> quantized_impacts();
  /// One of any block.
  std::uint32_t quantized_impact(std::size_t block, unsigned place) const;

  /// What a reader has in memory apart.
  static constexpr std::size_t decoded_bytes = 2 * sizeof(std::uint32_t) * (max_block_size + over_write_values);

 private:
  static constexpr unsigned single_freqs = 2;

  /// decode(), with the file and the place in what it throws.
  template <class Decode>
  std::invoke_result_t<Decode> naming_place(std::size_t block, Decode&& decode) const {
    try {
      return decode();
    } catch (const CorruptBlock& error) {
      fail(block, error.what());
    }
  }
  freq_t single_freq(std::size_t block, WordView words, unsigned size, unsigned place) const;
  /// Decodes a block's quantized impacts to where frequencies are.
  void decode_impacts_of(std::size_t block, unsigned size);
  void load_short_list();
  void pad_docids() { std::fill_n(decoded_->docids.begin() + size_, docid_padding, end_docid); }
  WordView block_words(std::size_t block) const;
  unsigned size_of(std::size_t block) const;
  /// Whether the decoded docIDs ascend and come after those of the block before.
  bool rises(std::size_t block) const;

  const IndexReader* index_;
  PostingList list_;
  std::uint64_t* blocks_decoded_;
  std::unique_ptr<ListDecoder> decoder_;  ///< null for short lists
  bool impacts_are_freqs_ = false;        ///< of a long list
  std::size_t num_blocks_ = 1;
  std::size_t first_word_ = 0;  ///< of the first block
  std::size_t block_ = 0;
  unsigned size_ = 0;
  WordView words_;
  std::size_t freqs_block_ = SIZE_MAX;  ///< the block whose frequencies are decoded
  unsigned freqs_read_ = 0;             ///< frequencies of the block that were read one by one
  /// Apart, so that the readers of a query's lists are no single allocation of a size that the system maps anew each
  /// time; and kept by the thread for the next query's lists.
  struct Decoded {
    std::array<docid_t, max_block_size + over_write_values> docids;
    std::array<freq_t, max_block_size + over_write_values> freqs;
  };
  ScratchArray<Decoded> decoded_{1};
};

/// Decodes a short list; the spans have its length. Throws CorruptFile as BlockReader does.
void read_short_list(const IndexReader& index, const PostingList& list, std::span<docid_t> docids,
                     std::span<freq_t> freqs);

/// Calls visit(reader) for each block of a list, in order, with the block as the reader's current one.
template <class Visit>
void for_each_block(const IndexReader& index, const PostingList& list, Visit&& visit,
                    std::uint64_t* blocks_decoded = nullptr) {
  BlockReader reader(index, list, blocks_decoded);
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    reader.load(block);
    visit(reader);
  }
}

/// Moves forwards over one posting list, posting by posting. docid() is end_docid after the last posting; next() and
/// freq() may not be called there. Blocks are skipped by their last docID without being decoded, and frequencies are
/// decoded only when they are read.
class PostingCursor {
 public:
  /// Counts blocks as BlockReader does.
  PostingCursor(const IndexReader& index, const PostingList& list, std::uint64_t* blocks_decoded = nullptr)
      : reader_(index, list, blocks_decoded) {
    enter(0);
  }

  docid_t docid() const { return docid_; }
  std::uint64_t df() const { return reader_.list().df; }
  freq_t freq() { return reader_.freq(place_); }
  /// The reader at the cursor's block, and the cursor's place in that block.
  BlockReader& reader() { return reader_; }
  unsigned place() const { return place_; }
  void next() {
    if (++place_ < reader_.size()) {
      docid_ = reader_.docids()[place_];
    } else {
      enter(reader_.block() + 1);
    }
  }
  /// Moves to a later posting of the current block.
  void move_to(unsigned place) {
    place_ = place;
    docid_ = reader_.docids()[place];
  }
  /// Moves to the first posting whose docID is at least `target`; stays if it is there already.
  void next_geq(docid_t target);

 private:
  void enter(std::size_t block);

  BlockReader reader_;
  unsigned place_ = 0;  ///< in the block
  docid_t docid_ = 0;
};

// What a GPU with less memory than the index keeps of posting lists. Plans and the GPU's list store both count with
// these functions.

/// Words of 32 bits of a posting list, or of a part of it.
struct ListWords {
  std::uint64_t coded = 0;    ///< with the list's header
  std::uint64_t impacts = 0;  ///< quantized, of the same blocks

  std::uint64_t size() const { return coded + impacts; }
  std::uint64_t size_bytes() const { return size() * sizeof(std::uint32_t); }
};

/// Whether a GPU keeps a list: lists of one block come with the queries that need them.
inline bool is_kept(const PostingList& list) { return !list.block_last.empty(); }

/// The first `blocks` blocks, in the index's size, of a list that is_kept(): the whole list if it has no more, or if
/// its rows or impacts contradict each other. `with_impacts`: whether impacts are kept, which quantized scores need.
ListWords front_of(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts);

/// The first `blocks` blocks, in the index's size, of a list that has more, as a list. Numbers that do not depend on
/// where the list ends, and those that are upper bounds, stay those of the whole list; IDF is not among them.
PostingList list_of_front(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts);

/// A block row: last docID, offset, maximum.
inline constexpr std::uint64_t block_row_bytes = sizeof(docid_t) + sizeof(std::uint32_t) + sizeof(std::uint16_t);

/// The block rows that a kept list takes where only kept lists have theirs: by twos, so that rows of 16 bits begin at
/// whole words. All rows of a list come with its first block.
inline std::uint64_t rows_kept(const PostingList& list) { return (list.block_last.size() + 1) / 2 * 2; }

/// The bytes of all coded lists, those of one block included, and of their impacts if these are kept: what shares of an
/// index's lists are shares of.
std::uint64_t coded_list_bytes(const IndexReader& index, bool with_impacts);

}  // namespace quern
