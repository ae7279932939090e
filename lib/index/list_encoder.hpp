#pragma once
#include "quern/codec/codec.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/index_writer.hpp"
#include "quern/index/list_source.hpp"

namespace quern {

/// Moves the `count` greatest values to the front, the least of them last.
void put_greatest_first(std::span<float> values, std::size_t count);

/// Keeps the greatest impacts of a list, up to the largest stored rank.
class TopImpacts {
 public:
  void clear() {
    kept_.clear();
    threshold_ = 0;
  }
  void add(float impact) { add({&impact, 1}, impact); }
  /// `max_impact` is the greatest of the impacts: it allows skipping most blocks of a long list.
  void add(std::span<const float> impacts, float max_impact) {
    if (max_impact <= threshold_) return;
    const std::size_t before = kept_.size();
    kept_.resize(before + impacts.size());
    // Branch-free: which ones are kept is unpredictable.
    float* to = kept_.data() + before;
    for (const float impact : impacts) {
      *to = impact;
      to += impact > threshold_ ? 1 : 0;
    }
    kept_.resize(static_cast<std::size_t>(to - kept_.data()));
    if (kept_.size() >= 4 * max_kept) prune();
  }
  /// Adds the greatest impacts of another part of the list.
  void add(const TopImpacts& part) {
    if (!part.kept_.empty()) add(part.kept_, *std::max_element(part.kept_.begin(), part.kept_.end()));
  }
  /// The impacts at stored_ranks; 0 for ranks beyond the list.
  std::array<float, 4> at_ranks() {
    std::array<float, 4> impacts = {};
    std::span<float> unsorted = kept_;
    for (std::size_t i = stored_ranks.size(); i-- > 0;) {
      const std::size_t rank = stored_ranks[i];
      if (kept_.size() < rank) continue;
      put_greatest_first(unsorted, rank);
      impacts[i] = kept_[rank - 1];
      unsorted = unsorted.first(rank - 1);
      if (unsorted.empty()) break;
    }
    return impacts;
  }

 private:
  static constexpr std::size_t max_kept = stored_ranks.back();

  void prune() {
    put_greatest_first(kept_, max_kept);
    kept_.resize(max_kept);
    threshold_ = kept_.back();
  }

  std::vector<float> kept_;
  float threshold_ = 0;  ///< impacts up to this one are dropped
};

/// The encoded lists of a batch, in term order, with words and rows of all lists in common arrays. A LongList is alone
/// in its batch; its words and rows may be partly in work files. A ListPiece is also alone: its item holds the df of
/// the list; everything else is the piece's.
struct EncodedBatch {
  explicit EncodedBatch(const std::string& tmp_folder) : parts(tmp_folder), spooled_weights(tmp_folder) {}

  struct Item {
    term_t term = 0;  ///< number in the collection's lexicon
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
    std::uint64_t first = 0;  ///< index of the first posting in the list
    TopImpacts top;
  };
  std::optional<Piece> piece;
  SpooledListParts parts;
  /// If the corpus has weights: the weights of long lists' postings. For a LongList only the last ones; the others are
  /// in a work file.
  std::vector<std::uint16_t> weights;
  RecordSpool<std::uint16_t> spooled_weights;
  bool is_spooled = false;
  CodedBits bits;
  std::uint64_t postings = 0;

  void clear();
  std::size_t num_words() const { return words.size() + parts.words.count(); }
  std::size_t num_rows() const { return block_last.size() + parts.block_last.count(); }
  /// Moves a LongList's words and rows to work files, from arrays with at least `min_values` values.
  void spool_parts(std::size_t min_values);
  /// An item for the writer: views of this batch, without words and rows if these are spooled.
  EncodedList list(const Item& item) const;
};

/// An item for the writer, without postings, words and rows.
EncodedList head_of(const EncodedBatch::Item& item);

/// Index-wide data for encoding.
struct EncodingContext {
  const Codec* codec = nullptr;
  CodecOptions options;
  docid_t num_documents = 0;
  std::span<const float> constants;  ///< K_d of each docID
  std::string_view source = {};      ///< source of the lists, for messages
  /// Set if frequencies are weights from the corpus: long lists then encode frequencies as 1, since impacts hold the
  /// weights.
  std::optional<ImpactSettings> impacts = std::nullopt;
};

/// Whether lists can be encoded as ListPieces: true if blocks don't depend on the rest of the list.
bool encodes_pieces(const Codec& codec, const CodecOptions& options);

/// Encodes lists: postings by the codec, block rows, upper bounds. Throws CorruptFile unless each list's docIDs ascend.
/// Not thread-safe.
class ListEncoding {
 public:
  explicit ListEncoding(const EncodingContext& context);
  /// Replaces `out` by the encoded lists.
  void encode(Lists&& lists, EncodedBatch& out);

 private:
  /// A unit of encoding: a list, or a piece of one.
  struct Range {
    term_t term = 0;
    std::uint64_t df = 0;        ///< of the list
    docid_t before = end_docid;  ///< the docID before the range
    bool has_list_begin = true;
  };
  /// A block's values for codecs.
  struct CodedValues {
    std::span<const std::uint32_t> gaps, freqs_less_one;
  };

  void encode_lists(std::span<const Posting> postings, EncodedBatch& out);
  void encode_lists(const ListColumns& columns, EncodedBatch& out);
  void encode_short_list(term_t term, std::span<const docid_t> docids, std::span<const freq_t> freqs,
                         EncodedBatch& out);
  /// for_each_block(visit) calls visit(docIDs, frequencies) for each block of the range; it can be repeated, so the
  /// list needn't be in memory.
  template <class ForEachBlock>
  void encode_list(const Range& range, const ForEachBlock& for_each_block, EncodedBatch& out);
  /// Encodes blocks whose values were kept.
  void put_kept_blocks(EncodedBatch::Item& item, bool has_rows, EncodedBatch& out);
  void encode_long_list(const LongList& list, EncodedBatch& out);
  void encode_piece(const ListPiece& piece, EncodedBatch& out);
  /// Copies postings into docids_ and freqs_.
  void part_columns(std::span<const Posting> postings);
  float impact_of(docid_t docid, freq_t freq) const {
    return context_.impacts ? context_.impacts->impact_of(freq) : impact(freq, context_.constants[docid]);
  }
  /// Adds the block's impacts to top_ and returns the greatest.
  float add_impacts(std::span<const docid_t> docids, std::span<const freq_t> freqs);
  /// For given weights, throws unless the frequencies are valid weights.
  void check_weights(term_t term, std::span<const freq_t> freqs) const;
  [[noreturn]] void fail_to_rise(term_t term) const;
  /// Appends the block's values to the kept ones. `before` is the previous block's last docID.
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

/// Combines the results of a list's encoded pieces.
class PieceJoin {
 public:
  /// Adds a list's pieces in order; true after the last one.
  bool add(const EncodedBatch& batch) {
    const EncodedBatch::Item& piece = batch.items.front();
    if (batch.piece->first == 0) {
      list_ = {};
      list_.term = piece.term;
      list_.df = piece.df;
      top_.clear();
    }
    list_.cf += piece.cf;
    list_.words += piece.words;
    list_.rows += piece.rows;
    top_.add(batch.piece->top);
    if (batch.piece->first + batch.postings < piece.df) return false;
    list_.kth_impact = top_.at_ranks();
    return true;
  }
  /// The list of the last piece added. Its words and rows count those of all pieces, which are no longer available.
  const EncodedBatch::Item& list() const { return list_; }

 private:
  EncodedBatch::Item list_;
  TopImpacts top_;
};

}  // namespace quern
