#include "quern/shards/joined_lists.hpp"

#include <algorithm>
#include <memory>

#include "quern/formats/posting_reader.hpp"

namespace quern {
namespace {

/// Calls visit(docid, freq) for `count` postings of a list from place `first` on.
template <class Visit>
void read(const std::vector<PostingRange>& ranges, std::uint64_t first, std::uint64_t count, Visit&& visit) {
  for (const PostingRange& range : ranges) {
    if (count == 0) return;
    if (first >= range.count) {
      first -= range.count;
      continue;
    }
    const docid_t shift = range.add - range.subtract;  // modulo 2^32
    BlockReader reader(*range.index, range.list);
    const std::uint64_t block_size = range.list.is_short() ? range.list.df : range.index->block_size();
    std::uint64_t left = std::min(count, range.count - first);
    std::size_t place = (range.first + first) % block_size;
    for (std::uint64_t block = (range.first + first) / block_size; left > 0; ++block, place = 0) {
      reader.load(block);
      const std::span<const docid_t> docids = reader.docids();
      const std::span<const freq_t> freqs = reader.freqs();
      for (; place < docids.size() && left > 0; ++place, --left, --count) visit(docids[place] + shift, freqs[place]);
    }
    first = 0;
  }
}

}  // namespace

std::uint64_t most_joined_postings(std::uint64_t working_bytes, std::size_t jobs) {
  // A posting in flight is decoded, and coded; half of the memory is for what assembling takes besides.
  constexpr std::uint64_t posting_bytes = 3 * sizeof(Posting) + 8;
  return std::max<std::uint64_t>(working_bytes / 2 / jobs / posting_bytes, list_batch_postings);
}

JoinedLists::JoinedLists(Next next, Release release, bool makes_pieces, std::uint64_t max_list_postings,
                         const std::string& tmp_folder)
    : next_(std::move(next)),
      release_(std::move(release)),
      makes_pieces_(makes_pieces),
      max_list_postings_(max_list_postings),
      tmp_folder_(tmp_folder) {}

bool JoinedLists::join_next() {
  std::string term;
  joined_ = {};
  if (!next_(term, joined_.ranges)) return false;
  joined_.term = terms_++;
  for (const PostingRange& range : joined_.ranges) joined_.df += range.count;
  const std::lock_guard lock(naming_);
  names_.push_back(std::move(term));
  return true;
}

std::string_view JoinedLists::term_at(term_t term) {
  const std::lock_guard lock(naming_);
  for (; first_name_ <= term; ++first_name_) {
    name_ = std::move(names_.front());
    names_.pop_front();
  }
  return name_;
}

DeferredLists JoinedLists::piece(std::uint64_t first) const {
  auto list = std::make_shared<const Joined>(joined_);
  return [list, first]() -> Lists {
    ListPiece piece{list->term, list->df, first, {}, {}};
    const std::uint64_t from = first == 0 ? 0 : first - 1;
    const std::uint64_t count = std::min(list->df, first + list_piece_postings) - from;
    piece.docids.reserve(count);
    piece.freqs.reserve(count);
    read(list->ranges, from, count, [&](docid_t docid, freq_t freq) {
      piece.docids.push_back(docid);
      piece.freqs.push_back(freq);
    });
    return piece;
  };
}

LongList JoinedLists::long_list() const {
  auto postings = std::make_shared<RecordSpool<SpooledPosting>>(tmp_folder_);
  read(joined_.ranges, 0, joined_.df, [&](docid_t docid, freq_t freq) { postings->add({docid, freq}); });
  return {joined_.term, joined_.df, std::move(postings)};
}

void JoinedLists::count_for_release(std::uint64_t postings) {
  constexpr std::uint64_t postings_per_release = 8 << 20;
  since_release_ += postings;
  if (since_release_ < postings_per_release) return;
  since_release_ = 0;
  release_();
}

bool JoinedLists::next(ListBatch& batch) {
  if (!has_joined_ && !(has_joined_ = join_next())) return false;
  if (makes_pieces_ && joined_.df > list_piece_postings) {
    batch = piece(next_piece_);
    count_for_release(list_piece_postings);
    next_piece_ += list_piece_postings;
    if (next_piece_ >= joined_.df) {
      next_piece_ = 0;
      has_joined_ = false;
    }
    return true;
  }
  if (joined_.df > max_list_postings_) {
    batch = Lists(long_list());
    count_for_release(joined_.df);
    has_joined_ = false;
    return true;
  }
  auto lists = std::make_shared<std::vector<Joined>>();
  std::uint64_t postings = 0;
  const std::uint64_t most = makes_pieces_ ? std::min(list_piece_postings, max_list_postings_) : max_list_postings_;
  do {
    postings += joined_.df;
    lists->push_back(std::move(joined_));
    has_joined_ = join_next();
  } while (has_joined_ && joined_.df <= most && postings < list_batch_postings);
  count_for_release(postings);
  batch = DeferredLists([lists, postings]() -> Lists {
    OwnedLists owned;
    owned.postings.reserve(postings);
    for (const Joined& list : *lists)
      read(list.ranges, 0, list.df, [&](docid_t docid, freq_t freq) {
        owned.postings.push_back({list.term, docid, freq});
      });
    return owned;
  });
  return true;
}

}  // namespace quern
