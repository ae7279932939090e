#pragma once
#include <type_traits>

#include "quern/core/scratch_memory.hpp"
#include "quern/formats/index_file.hpp"

/// Readers of posting lists: searches in ascending docIDs, blocks in any order (BlockReader), and postings one by one
/// (PostingCursor).
namespace quern {

/// The first index at or after `from` with a docID of at least `target`; docids.size() if there is none. A branch-free
/// binary search: branches on random targets would be mispredicted half of the time.
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

/// The first row at or after `from` with a docID of at least `target`, or rows.size(). Safe for rows of a damaged file
/// that don't ascend. Galloping search, since the row is usually near.
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

/// The list's quantized impacts if the index has one in each byte; null otherwise, and for short lists.
inline const std::uint8_t* impact_bytes(const IndexReader& index, const PostingList& list) {
  const bool are_bytes = list.impact_width == 8 && index.block_size() % sizeof(std::uint32_t) == 0;
  return are_bytes && !list.is_short() ? reinterpret_cast<const std::uint8_t*>(list.impacts.data()) : nullptr;
}

/// Decodes a posting list block by block, in any order; a single-block list is decoded at once. Its docIDs are safe as
/// indexes of documents: those of a decoded block ascend, exceed those of the previous block, are below num_documents,
/// and end with the docID in the block's row. Throws CorruptFile otherwise. Holds the docIDs of one block, and its
/// frequencies once they are read.
class BlockReader {
 public:
  /// Counts decoded blocks in *blocks_decoded unless it is null.
  BlockReader(const IndexReader& index, const PostingList& list, std::uint64_t* blocks_decoded = nullptr);

  const PostingList& list() const { return list_; }
  std::size_t num_blocks() const { return num_blocks_; }
  /// The block's last docID, without decoding it.
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
  /// Copies of end_docid after them, for searches in wide registers.
  static constexpr std::size_t docid_padding = 16;
  /// All frequencies, or the given weights.
  std::span<const freq_t> freqs() { return freqs_of(block_); }
  /// All frequencies of any block; the current block's docIDs stay.
  std::span<const freq_t> freqs_of(std::size_t block);
  /// One frequency. The first few of a block are read without decoding the others if the codec supports it.
  freq_t freq(unsigned place) {
    if (block_ == freqs_block_) return decoded_->freqs[place];
    if (freqs_read_++ >= single_freqs) return freqs()[place];
    return single_freq(block_, words_, size_, place);
  }
  /// The frequencies at some positions of any block. A few are read without decoding the others.
  void read_freqs(std::size_t block, std::span<const std::uint16_t> places, freq_t* out);
  /// Throws CorruptFile with the file, the list and the block.
  [[noreturn]] void fail(std::size_t block, const char* why) const;
  /// All quantized impacts of the block. Requires quantized impacts; not for short lists. They overwrite the decoded
  /// frequencies, since scores need only one of them.
  std::span<const std::uint32_t> quantized_impacts();
  /// One quantized impact of any block.
  std::uint32_t quantized_impact(std::size_t block, unsigned place) const;

  /// A reader's separate memory, in bytes.
  static constexpr std::size_t decoded_bytes = 2 * sizeof(std::uint32_t) * (max_block_size + over_write_values);

 private:
  static constexpr unsigned single_freqs = 2;

  /// Calls decode() and adds file and position to its errors.
  template <class Decode>
  std::invoke_result_t<Decode> naming_place(std::size_t block, Decode&& decode) const {
    try {
      return decode();
    } catch (const CorruptBlock& error) {
      fail(block, error.what());
    }
  }
  freq_t single_freq(std::size_t block, WordView words, unsigned size, unsigned place) const;
  /// Decodes a block's quantized impacts into the frequencies' buffer.
  void decode_impacts_of(std::size_t block, unsigned size);
  void load_short_list();
  void pad_docids() { std::fill_n(decoded_->docids.begin() + size_, docid_padding, end_docid); }
  WordView block_words(std::size_t block) const;
  unsigned size_of(std::size_t block) const;
  /// Whether the decoded docIDs ascend and follow those of the previous block.
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
  /// Allocated separately, so that a query's readers aren't one large allocation that the system maps each time; the
  /// thread keeps it for the next query.
  struct Decoded {
    std::array<docid_t, max_block_size + over_write_values> docids;
    std::array<freq_t, max_block_size + over_write_values> freqs;
  };
  ScratchArray<Decoded> decoded_{1};
};

/// Decodes a short list; the spans have its length. Throws CorruptFile like BlockReader.
void read_short_list(const IndexReader& index, const PostingList& list, std::span<docid_t> docids,
                     std::span<freq_t> freqs);

/// Calls visit(reader) with each block of a list as the current one, in order.
template <class Visit>
void for_each_block(const IndexReader& index, const PostingList& list, Visit&& visit,
                    std::uint64_t* blocks_decoded = nullptr) {
  BlockReader reader(index, list, blocks_decoded);
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    reader.load(block);
    visit(reader);
  }
}

/// Iterates over a posting list. docid() is end_docid after the last posting; don't call next() or freq() there. Skips
/// blocks by their last docID without decoding them, and decodes frequencies only when they are read.
class PostingCursor {
 public:
  /// Counts blocks like BlockReader.
  PostingCursor(const IndexReader& index, const PostingList& list, std::uint64_t* blocks_decoded = nullptr)
      : reader_(index, list, blocks_decoded) {
    enter(0);
  }

  docid_t docid() const { return docid_; }
  std::uint64_t df() const { return reader_.list().df; }
  freq_t freq() { return reader_.freq(place_); }
  /// The reader at the cursor's block, and the cursor's position in the block.
  BlockReader& reader() { return reader_; }
  unsigned place() const { return place_; }
  void next() {
    if (++place_ < reader_.size())
      docid_ = reader_.docids()[place_];
    else
      enter(reader_.block() + 1);
  }
  /// Moves to a later posting of the current block.
  void move_to(unsigned place) {
    place_ = place;
    docid_ = reader_.docids()[place];
  }
  /// Moves to the first posting with a docID of at least `target`; stays if the current one qualifies.
  void next_geq(docid_t target);

 private:
  void enter(std::size_t block);

  BlockReader reader_;
  unsigned place_ = 0;  ///< in the block
  docid_t docid_ = 0;
};

// The parts of posting lists that a GPU with less memory than the index keeps. Plans and the GPU's list store both
// count with these functions.

/// Words (32 bits) of a posting list or a part of it.
struct ListWords {
  std::uint64_t coded = 0;    ///< including the list header
  std::uint64_t impacts = 0;  ///< quantized impacts of the same blocks

  std::uint64_t size() const { return coded + impacts; }
  std::uint64_t size_bytes() const { return size() * sizeof(std::uint32_t); }
};

/// Whether a GPU keeps a list: single-block lists are sent with the queries that need them.
inline bool is_kept(const PostingList& list) { return !list.block_last.empty(); }

/// Words of the first `blocks` index blocks of a list that is_kept(); the whole list if it has no more, or if its rows
/// or impacts contradict each other. `with_impacts`: whether to keep impacts, for quantized scores.
ListWords front_of(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts);

/// The first `blocks` index blocks of a longer list, as a list. Upper bounds and numbers independent of the list's end
/// stay those of the whole list; IDF doesn't.
PostingList list_of_front(const PostingList& list, std::uint64_t blocks, unsigned block_size, bool with_impacts);

/// A block row: last docID, offset, maximum.
inline constexpr std::uint64_t block_row_bytes = sizeof(docid_t) + sizeof(std::uint32_t) + sizeof(std::uint16_t);

/// Block rows of a kept list in a store of kept lists: an even number, so that 16-bit rows begin at whole words. All
/// rows of a list come with its first block.
inline std::uint64_t rows_kept(const PostingList& list) { return (list.block_last.size() + 1) / 2 * 2; }

/// Bytes of all encoded lists, including single-block ones, and of their impacts if kept: 100 % of an index's lists.
std::uint64_t coded_list_bytes(const IndexReader& index, bool with_impacts);

}  // namespace quern
