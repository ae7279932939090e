#pragma once
#include <variant>

#include "quern/codec/bit_packing.hpp"
#include "quern/codec/codec.hpp"
#include "quern/corpus/forward_postings.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/io/spool.hpp"

/// Sources of posting lists for the encoder, in batches, in term order.
namespace quern {

/// Lists in memory owned by the source, which does not read them again: postings sorted by (term, docID).
struct ViewedLists {
  std::span<Posting> postings;
};
/// Lists owned by the batch: postings sorted by (term, docID).
struct OwnedLists {
  std::vector<Posting> postings;
};
/// Lists owned by the batch, in any order; sort them with sort_postings() before encoding.
struct UnsortedLists {
  std::vector<Posting> postings;
};
/// A posting in a spool of one or several lists; its position determines the term.
struct SpooledPosting {
  docid_t docid;
  freq_t freq;
};
/// A list too long for memory: `size` postings of a spool from `first`, in docID order.
struct LongList {
  term_t term = 0;
  std::uint64_t size = 0;
  std::shared_ptr<const RecordSpool<SpooledPosting>> postings;
  std::uint64_t first = 0;
};
/// Consecutive postings of a list of more than list_piece_postings: that many from `first`, or the rest. The pieces of
/// a list come one after another, so that threads can build and encode them without holding the list. Only for codecs
/// for which encodes_pieces() is true.
struct ListPiece {
  term_t term = 0;
  std::uint64_t df = 0;     ///< of the list
  std::uint64_t first = 0;  ///< index of the first posting in the list
  /// Unless `first` is 0, these begin with the posting before the piece.
  std::vector<docid_t> docids;
  std::vector<freq_t> freqs;
};
/// A multiple of all block sizes.
inline constexpr std::uint64_t list_piece_postings = 64 << 10;

/// Lists owned by the batch, in term order, as columns of docIDs and frequencies.
struct ListColumns {
  struct List {
    term_t term = 0;
    std::size_t df = 0;
  };
  std::vector<List> lists;
  /// Columns of all lists, concatenated.
  std::vector<docid_t> docids;
  std::vector<freq_t> freqs;
};

using Lists = std::variant<ViewedLists, OwnedLists, ListColumns, UnsortedLists, LongList, ListPiece>;
/// Lists created on demand by the encoding thread. Call once.
using DeferredLists = std::function<Lists()>;
/// Lists with consecutive terms, to be encoded together.
using ListBatch = std::variant<Lists, DeferredLists>;

/// Postings of a full batch of several lists. Small, since each list needs memory of its own, and may have only one
/// posting.
inline constexpr std::size_t list_batch_postings = 16 << 10;

/// The lists of a batch; creates deferred ones.
inline Lists lists_of(ListBatch&& batch) {
  if (const auto* make = std::get_if<DeferredLists>(&batch)) return (*make)();
  return std::get<Lists>(std::move(batch));
}

/// A source of an index's lists in term order.
class ListSource {
 public:
  virtual ~ListSource() = default;
  /// Replaces `batch` by the next one; false at the end.
  virtual bool next(ListBatch& batch) = 0;
};

/// Sorts postings by (term, docID), in parallel and in linear time: a radix sort from the lowest digit, with as few
/// digits as possible, and no docID digits if postings come document by document. Resizes `scratch` to the size of
/// `postings`.
void sort_postings(std::vector<Posting>& postings, std::vector<Posting>& scratch, unsigned threads);

// Sequential reading of posting lists. Queries, which skip, use formats/posting_reader.hpp.

/// Decodes the blocks of lists in order, without block rows. Memory accesses stay in bounds for any words; the caller
/// checks the values. One scan can read many lists of a codec.
class BlockScan {
 public:
  BlockScan(const Codec& codec, const CodecOptions& options)
      : codec_(codec), options_(options), docids_(options.block_size + over_write_values), freqs_(docids_.size()) {}

  /// Starts before the first block of a list of `df` postings; `words` holds its header and blocks. If its first blocks
  /// are missing, `before` is their last docID. Throws CorruptFile for a bad header.
  void start(WordView words, std::uint64_t df, docid_t before = end_docid) {
    decoder_ = codec_.make_decoder(options_, words);
    words_ = words.subspan(codec_.header_words(options_));
    left_ = df;
    before_ = last_ = before;
    size_ = 0;
    block_words_ = 0;
  }
  /// Decodes the next block. False at the end of the list. Throws CorruptFile if the block reaches past the list.
  bool next() {
    words_ = words_.subspan(block_words_);
    if (left_ == 0) return false;
    before_ = last_;
    size_ = static_cast<unsigned>(std::min<std::uint64_t>(options_.block_size, left_));
    left_ -= size_;
    decoder_->decode_docids(words_, size_, before_, docids_.data());
    decoder_->decode_freqs(words_, size_, freqs_.data());
    block_words_ = decoder_->block_words(words_, size_);
    last_ = docids_[size_ - 1];
    return true;
  }

  // The current block:
  std::span<const docid_t> docids() const { return {docids_.data(), size_}; }
  std::span<const freq_t> freqs() const { return {freqs_.data(), size_}; }
  /// The previous block's last docID; 0xffffffff (-1) for the first block.
  docid_t docid_before() const { return before_; }
  /// The block's words and those after it. After the last block: the rest of the list.
  WordView words() const { return words_; }
  const ListDecoder& decoder() const { return *decoder_; }

 private:
  const Codec& codec_;
  CodecOptions options_;
  std::unique_ptr<ListDecoder> decoder_;
  WordView words_;
  std::uint64_t left_ = 0;  ///< postings after the current block
  docid_t before_ = end_docid, last_ = end_docid;
  unsigned size_ = 0;
  std::size_t block_words_ = 0;
  std::vector<docid_t> docids_;
  std::vector<freq_t> freqs_;
};

/// Reads a list's quantized impacts one at a time: stored ones, or for short lists those computed from frequencies.
class ListImpacts {
 public:
  /// The index must have quantized impacts and outlive this.
  ListImpacts(const IndexReader& index, const PostingList& list)
      : index_(index),
        list_(list),
        quantize_(*index.quantizer()),
        weight_(index.quantized_weight(list)),
        average_length_(index.manifest().statistics.average_length()) {}

  /// The impact of posting `place`, which has this docID and frequency.
  std::uint32_t at(std::uint64_t place, docid_t docid, freq_t freq) const {
    if (!list_.is_short()) {
      const unsigned block_size = index_.block_size();
      return impact_at(impact_block(list_.impacts, list_.impact_width, block_size, place / block_size),
                       list_.impact_width, static_cast<unsigned>(place % block_size));
    }
    const float constant = document_constant(index_.length(docid), average_length_, index_.manifest().bm25);
    return quantize_(weight_ * index_.impact_of(freq, constant));
  }

 private:
  const IndexReader& index_;
  PostingList list_;
  ImpactQuantizer quantize_;
  float weight_;
  double average_length_;
};

}  // namespace quern
