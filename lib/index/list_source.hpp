#pragma once
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "quern/corpus/forward_postings.hpp"
#include "quern/io/spool.hpp"

/// Posting lists on their way from whatever makes them to the encoder: in batches, in the order of their terms.
namespace quern {

/// Lists in memory that the source owns and keeps: postings sorted by (term, docID).
struct ViewedLists {
  std::span<const Posting> postings;
};
/// Lists that belong to the batch: postings sorted by (term, docID).
struct OwnedLists {
  std::vector<Posting> postings;
};
/// Lists that belong to the batch, in any order; sort them with sort_postings() before encoding.
struct UnsortedLists {
  std::vector<Posting> postings;
};
/// A posting in a spool that holds one list or several; its term is known from its place.
struct SpooledPosting {
  docid_t docid;
  freq_t freq;
};
/// One list that is too long for memory: `size` postings of a spool from `first` on, in docID order.
struct LongList {
  term_t term = 0;
  std::uint64_t size = 0;
  std::shared_ptr<const RecordSpool<SpooledPosting>> postings;
  std::uint64_t first = 0;
};
/// Consecutive postings of one list of more than list_piece_postings: so many from `first` on, or what is left. The
/// pieces of a list come one after the other, so that several threads can make and encode them, and none holds the
/// list. Only for codecs that encodes_pieces() names.
struct ListPiece {
  term_t term = 0;
  std::uint64_t df = 0;     ///< of the list
  std::uint64_t first = 0;  ///< place of the first posting in the list
  /// Unless `first` is 0, the posting before the piece comes before its own.
  std::vector<docid_t> docids;
  std::vector<freq_t> freqs;
};
/// A multiple of all block sizes.
inline constexpr std::uint64_t list_piece_postings = 64 << 10;

/// Lists that belong to the batch, docIDs and frequencies apart, in the order of their terms.
struct ListColumns {
  struct List {
    term_t term = 0;
    std::size_t df = 0;
  };
  std::vector<List> lists;
  /// Of all lists, one after the other.
  std::vector<docid_t> docids;
  std::vector<freq_t> freqs;
};

using Lists = std::variant<ViewedLists, OwnedLists, ListColumns, UnsortedLists, LongList, ListPiece>;
/// Lists that are made when they are wanted, on the thread that encodes them. To be called once.
using DeferredLists = std::function<Lists()>;
/// Lists with consecutive terms, to be encoded together.
using ListBatch = std::variant<Lists, DeferredLists>;

/// Postings with which a batch of several lists is large enough. Few, since a list takes memory of its own besides, and
/// each may have a single posting.
inline constexpr std::size_t list_batch_postings = 16 << 10;

/// The lists of a batch; makes those that are deferred.
inline Lists lists_of(ListBatch&& batch) {
  if (const auto* make = std::get_if<DeferredLists>(&batch)) return (*make)();
  return std::get<Lists>(std::move(batch));
}

/// Hands out an index's lists in the order of their terms.
class ListSource {
 public:
  virtual ~ListSource() = default;
  /// Replaces `batch` by the next one. False at the end.
  virtual bool next(ListBatch& batch) = 0;
};

/// Sorts postings by (term, docID), in parallel, in time linear in their number: a radix sort from the lowest digit,
/// with only as many digits as the numbers need, and with none of docIDs if postings come document by document.
/// `scratch` is as large as `postings` afterwards.
void sort_postings(std::vector<Posting>& postings, std::vector<Posting>& scratch, unsigned threads);

}  // namespace quern
