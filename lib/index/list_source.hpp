#pragma once
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "quern/corpus/forward_postings.hpp"
#include "quern/io/spool.hpp"

/// Sources of posting lists for the encoder, in batches, in term order.
namespace quern {

/// Lists in memory owned by the source: postings sorted by (term, docID).
struct ViewedLists {
  std::span<const Posting> postings;
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

}  // namespace quern
