#include "quern/index/shards/joined_lists.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "quern/codec/short_list.hpp"
#include "quern/formats/posting_reader.hpp"

namespace quern {
namespace {

/// Destination of postings.
struct Columns {
  docid_t* docids;
  freq_t* freqs;

  void put(std::span<const docid_t> from_docids, docid_t shift, std::span<const freq_t> from_freqs) {
    std::transform(from_docids.begin(), from_docids.end(), docids, [=](docid_t docid) { return docid + shift; });
    std::copy(from_freqs.begin(), from_freqs.end(), freqs);
    docids += from_docids.size();
    freqs += from_freqs.size();
  }
};

/// Reads `count` postings of a range from index `first`.
void read_short(const PostingRange& range, docid_t shift, std::uint64_t first, std::uint64_t count, Columns& to) {
  std::array<docid_t, max_short_list> docids;
  std::array<freq_t, max_short_list> freqs;
  read_short_list(*range.index, range.list, std::span(docids).first(range.list.df),
                  std::span(freqs).first(range.list.df));
  to.put(std::span(docids).subspan(range.first + first, count), shift,
         std::span(freqs).subspan(range.first + first, count));
}

void read_blocks(const PostingRange& range, docid_t shift, std::uint64_t first, std::uint64_t count, Columns& to) {
  BlockReader reader(*range.index, range.list);
  const std::uint64_t block_size = range.index->block_size();
  std::uint64_t place = (range.first + first) % block_size;
  for (std::uint64_t block = (range.first + first) / block_size; count > 0; ++block, place = 0) {
    reader.load(block);
    const std::uint64_t some = std::min<std::uint64_t>(count, reader.size() - place);
    to.put(reader.docids().subspan(place, some), shift, reader.freqs().subspan(place, some));
    count -= some;
  }
}

/// Reads `count` postings of a list from index `first`.
void read(std::span<const PostingRange> ranges, std::uint64_t first, std::uint64_t count, Columns& to) {
  for (const PostingRange& range : ranges) {
    if (count == 0) return;
    if (first >= range.count) {
      first -= range.count;
      continue;
    }
    const docid_t shift = range.add - range.subtract;  // modulo 2^32
    const std::uint64_t some = std::min(count, range.count - first);
    if (range.list.is_short()) {
      read_short(range, shift, first, some, to);
    } else {
      read_blocks(range, shift, first, some, to);
    }
    count -= some;
    first = 0;
  }
}

}  // namespace

std::uint64_t max_joined_postings(std::uint64_t working_bytes, std::size_t jobs) {
  // A posting in flight needs space decoded and encoded; half of the memory is for the rest of the assembly.
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
  joined_.ranges.clear();
  if (!next_(name_, joined_.ranges)) return false;
  joined_.term = terms_++;
  joined_.df = 0;
  for (const PostingRange& range : joined_.ranges) joined_.df += range.count;
  names_.add(name_);
  return true;
}

/// Lists decoded together.
struct JoinedLists::JoinedBatch {
  std::vector<ListColumns::List> lists;
  std::vector<std::size_t> range_ends;  ///< end of each list's ranges
  std::vector<PostingRange> ranges;
  std::uint64_t postings = 0;

  void add(const Joined& joined) {
    lists.push_back({joined.term, joined.df});
    ranges.insert(ranges.end(), joined.ranges.begin(), joined.ranges.end());
    range_ends.push_back(ranges.size());
    postings += joined.df;
  }
  ListColumns columns() const {
    ListColumns columns;
    columns.lists = lists;
    columns.docids.resize(postings);
    columns.freqs.resize(postings);
    Columns to{columns.docids.data(), columns.freqs.data()};
    std::size_t begin = 0;
    for (std::size_t i = 0; i < lists.size(); begin = range_ends[i++])
      read(std::span(ranges).subspan(begin, range_ends[i] - begin), 0, lists[i].df, to);
    return columns;
  }
};

DeferredLists JoinedLists::piece(std::uint64_t first) const {
  auto list = std::make_shared<const Joined>(joined_);
  return [list, first]() -> Lists {
    ListPiece piece{list->term, list->df, first, {}, {}};
    const std::uint64_t from = first == 0 ? 0 : first - 1;
    const std::uint64_t count = std::min(list->df, first + list_piece_postings) - from;
    piece.docids.resize(count);
    piece.freqs.resize(count);
    Columns to{piece.docids.data(), piece.freqs.data()};
    read(list->ranges, from, count, to);
    return piece;
  };
}

LongList JoinedLists::long_list() const {
  auto postings = std::make_shared<RecordSpool<SpooledPosting>>(tmp_folder_);
  std::vector<docid_t> docids(std::min(joined_.df, list_piece_postings));
  std::vector<freq_t> freqs(docids.size());
  for (std::uint64_t first = 0; first < joined_.df; first += docids.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(docids.size(), joined_.df - first);
    Columns to{docids.data(), freqs.data()};
    read(joined_.ranges, first, count, to);
    for (std::size_t i = 0; i < count; ++i) postings->add({docids[i], freqs[i]});
  }
  return {joined_.term, joined_.df, std::move(postings)};
}

DeferredLists JoinedLists::next_lists() {
  auto lists = std::make_shared<JoinedBatch>();
  const std::uint64_t most = makes_pieces_ ? std::min(list_piece_postings, max_list_postings_) : max_list_postings_;
  do {
    lists->add(joined_);
    has_joined_ = join_next();
  } while (has_joined_ && joined_.df <= most && lists->postings < list_batch_postings);
  count_for_release(lists->postings);
  return [lists]() -> Lists { return lists->columns(); };
}

void JoinedLists::count_for_release(std::uint64_t postings) {
  constexpr std::uint64_t postings_per_release = 8 << 20;
  since_release_ += postings;
  if (since_release_ < postings_per_release) return;
  since_release_ = 0;
  release_();
}

ListBatch JoinedLists::next_batch() {
  if (makes_pieces_ && joined_.df > list_piece_postings) {
    ListBatch batch = piece(next_piece_);
    count_for_release(list_piece_postings);
    next_piece_ += list_piece_postings;
    if (next_piece_ >= joined_.df) {
      next_piece_ = 0;
      has_joined_ = false;
    }
    return batch;
  }
  if (joined_.df > max_list_postings_) {
    count_for_release(joined_.df);
    has_joined_ = false;
    return Lists(long_list());
  }
  return next_lists();
}

bool JoinedLists::next(ListBatch& batch) {
  if (!has_joined_ && !(has_joined_ = join_next())) return false;
  batch = next_batch();
  names_.hand_over();
  return true;
}

}  // namespace quern
