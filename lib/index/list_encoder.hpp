#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/core/quantized.hpp"
#include "quern/formats/index_writer.hpp"
#include "quern/index/list_source.hpp"
#include "quern/index/top_impacts.hpp"

namespace quern {

/// The encoded lists of a batch, in the order of their terms. Words and rows of all lists are in common arrays, but for
/// a LongList, which is alone in its batch: those of its words and rows that the arrays don't hold are in work files. A
/// ListPiece is alone in its batch too: its item has the df of the list, and all else of the piece.
struct EncodedBatch {
  explicit EncodedBatch(const std::string& tmp_folder) : parts(tmp_folder), spooled_weights(tmp_folder) {}

  struct Item {
    term_t term = 0;  ///< its number in the collection's lexicon
    std::uint64_t df = 0, cf = 0;
    std::size_t first_word = 0, words = 0;
    std::size_t first_row = 0, rows = 0;
    std::size_t first_byte = 0, bytes = 0;
    std::array<float, 4> kth_impact = {};
  };
  std::vector<Item> items;
  Words words;
  std::vector<docid_t> block_last;
  std::vector<std::uint32_t> block_offset;
  std::vector<std::uint16_t> block_max;
  Bytes short_lists;
  struct Piece {
    std::uint64_t first = 0;  ///< place of the first posting in the list
    TopImpacts top;
  };
  std::optional<Piece> piece;
  SpooledListParts parts;
  /// If the corpus gave weights, those of the postings of long lists; of a LongList, the last ones of them, and the
  /// others in a work file.
  std::vector<std::uint16_t> weights;
  RecordSpool<std::uint16_t> spooled_weights;
  bool is_spooled = false;
  CodedBits bits;
  std::uint64_t postings = 0;

  void clear();
  std::size_t num_words() const { return words.size() + parts.words.count(); }
  std::size_t num_rows() const { return block_last.size() + parts.block_last.count(); }
  /// Moves the words and rows of a LongList to the work files, those arrays that have `least` values.
  void spool_parts(std::size_t least);
  /// An item as the writer takes it: views of this batch, without words and rows if these are spooled.
  EncodedList list(const Item& item) const;
};

/// An item as the writer takes it, without postings, words and rows.
EncodedList head_of(const EncodedBatch::Item& item);

/// What encoding needs to know of the index.
struct EncodingContext {
  const Codec* codec = nullptr;
  CodecOptions options;
  docid_t num_documents = 0;
  std::span<const float> constants;  ///< K_d of each docID
  std::string_view source = {};      ///< what the lists come from, for messages
  /// If frequencies are weights that the corpus gave: those of long lists are coded as 1, since impacts hold them.
  std::optional<ImpactSettings> impacts = std::nullopt;
};

/// Whether lists may be encoded as ListPieces: if blocks don't depend on the rest of their list.
bool encodes_pieces(const Codec& codec, const CodecOptions& options);

/// Encodes lists: postings by the codec, block rows, upper bounds. Throws CorruptFile unless the docIDs of each list
/// rise. For one thread at a time.
class ListEncoding {
 public:
  explicit ListEncoding(const EncodingContext& context);
  /// Replaces `out` by the encoded lists.
  void encode(Lists&& lists, EncodedBatch& out);

 private:
  /// What is encoded as one: a list, or a piece of one.
  struct Range {
    term_t term = 0;
    std::uint64_t df = 0;        ///< of the list
    docid_t before = end_docid;  ///< the docID before the range
    bool has_list_begin = true;
  };
  /// A block as codecs take it.
  struct CodedValues {
    std::span<const std::uint32_t> gaps, freqs_less_one;
  };

  void encode_lists(std::span<const Posting> postings, EncodedBatch& out);
  void encode_lists(const ListColumns& columns, EncodedBatch& out);
  void encode_short_list(term_t term, std::span<const docid_t> docids, std::span<const freq_t> freqs,
                         EncodedBatch& out);
  /// for_each_block(visit) calls visit(docIDs, frequencies) for each block of the range, as often as asked: the list
  /// itself need not be in memory.
  template <class ForEachBlock>
  void encode_list(const Range& range, const ForEachBlock& for_each_block, EncodedBatch& out);
  /// Puts blocks whose values were kept.
  void put_kept_blocks(EncodedBatch::Item& item, bool has_rows, EncodedBatch& out);
  void encode_long_list(const LongList& list, EncodedBatch& out);
  void encode_piece(const ListPiece& piece, EncodedBatch& out);
  /// Puts postings into docids_ and freqs_.
  void part_columns(std::span<const Posting> postings);
  float impact_of(docid_t docid, freq_t freq) const {
    return context_.impacts ? context_.impacts->impact_of(freq) : impact(freq, context_.constants[docid]);
  }
  /// Adds the block's impacts to top_; returns the greatest.
  float add_impacts(std::span<const docid_t> docids, std::span<const freq_t> freqs);
  /// Throws unless these frequencies can be weights, if they are to be.
  void check_weights(term_t term, std::span<const freq_t> freqs) const;
  [[noreturn]] void fail_to_rise(term_t term) const;
  /// Appends the block's values to the kept ones. `before` is the last docID of the block before.
  CodedValues add_values(term_t term, std::span<const docid_t> docids, std::span<const freq_t> freqs, docid_t before);
  void forget_values();
  void put_block(const CodedValues& values, EncodedBatch::Item& item, bool has_rows, EncodedBatch& out);

  EncodingContext context_;
  std::unique_ptr<ListEncoder> encoder_;
  TopImpacts top_;
  std::vector<Posting> scratch_;
  std::vector<docid_t> docids_;
  std::vector<freq_t> freqs_;
  std::vector<std::uint32_t> gaps_, freqs_less_one_;
  std::vector<float> impacts_;
};

}  // namespace quern
