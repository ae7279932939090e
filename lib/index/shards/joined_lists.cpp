#include "quern/index/shards/joined_lists.hpp"

#include <deque>
#include <mutex>

#include "quern/codec/short_list.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/index/list_encoder.hpp"
#include "quern/index/list_source.hpp"

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
    if (range.list.is_short())
      read_short(range, shift, first, some, to);
    else
      read_blocks(range, shift, first, some, to);
    count -= some;
    first = 0;
  }
}

/// A list of the new index.
struct JoinedList {
  term_t term = 0;
  std::uint64_t df = 0;
  std::vector<PostingRange> ranges;
};

/// Lists decoded together.
struct JoinedBatch {
  std::vector<ListColumns::List> lists;
  std::vector<std::size_t> range_ends;  ///< end of each list's ranges
  std::vector<PostingRange> ranges;
  std::uint64_t postings = 0;

  void add(const JoinedList& joined) {
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

/// Passes terms from the thread that finds them to another one, in batches.
class TermNames {
 public:
  /// Adds the next term; they are numbered from 0.
  void add(const ListTerm& term) {
    adding_.text += term.text;
    adding_.ends.push_back(adding_.text.size());
    adding_.cfs.push_back(term.cf);
  }
  /// Makes the added terms available to the other thread.
  void hand_over() {
    if (adding_.ends.empty()) return;
    const term_t next = adding_.end();
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::exchange(adding_, Names{next, {}, {}, {}}));
  }
  /// A term that was handed over; call in ascending order. The view is valid until the next call.
  ListTerm at(term_t number) {
    while (number >= current_.end()) {
      const std::lock_guard lock(mutex_);
      current_ = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const std::size_t i = number - current_.first, begin = i == 0 ? 0 : current_.ends[i - 1];
    return {std::string_view(current_.text).substr(begin, current_.ends[i] - begin), current_.cfs[i]};
  }

 private:
  /// Consecutive terms.
  struct Names {
    term_t first = 0;
    std::string text;
    std::vector<std::size_t> ends;  ///< ends of the terms in `text`
    std::vector<std::uint64_t> cfs;

    term_t end() const { return first + static_cast<term_t>(ends.size()); }
  };

  Names adding_, current_;
  std::mutex mutex_;
  std::deque<Names> waiting_;
};

/// Lists joined from ranges. This reads only positions; the encoding threads decode the postings.
class JoinedListSource : public ListSource {
 public:
  JoinedListSource(const JoinedLists& lists, const IndexAssembly& assembly)
      : lists_(lists),
        makes_pieces_(
            encodes_pieces(codec_named(assembly.plan().options.codec), assembly.plan().options.codec_options)),
        max_list_postings_(std::max<std::uint64_t>(
            assembly.working_bytes() / 2 / assembly.jobs_in_flight() / posting_bytes, list_batch_postings)),
        tmp_folder_(assembly.plan().resources.tmp_folder) {}

  bool next(ListBatch& batch) override {
    if (!has_joined_ && !(has_joined_ = join_next())) return false;
    batch = next_batch();
    names_.hand_over();
    return true;
  }
  /// The term with this number. Call in ascending order, possibly in another thread than next(). The view is valid
  /// until the next call.
  ListTerm term_at(term_t term) { return names_.at(term); }

 private:
  /// A posting in flight needs space decoded and encoded; half of the memory is for the rest of the assembly.
  static constexpr std::uint64_t posting_bytes = 3 * sizeof(Posting) + 8;

  bool join_next() {
    joined_.ranges.clear();
    if (!lists_.next(name_, joined_.ranges)) return false;
    joined_.term = terms_++;
    joined_.df = 0;
    for (const PostingRange& range : joined_.ranges) joined_.df += range.count;
    names_.add({name_, joined_.ranges.front().list.whole_cf});
    return true;
  }

  /// The next batch, starting with the current list.
  ListBatch next_batch() {
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

  DeferredLists piece(std::uint64_t first) const {
    auto list = std::make_shared<const JoinedList>(joined_);
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

  LongList long_list() const {
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

  DeferredLists next_lists() {
    auto lists = std::make_shared<JoinedBatch>();
    const std::uint64_t max = makes_pieces_ ? std::min(list_piece_postings, max_list_postings_) : max_list_postings_;
    do {
      lists->add(joined_);
      has_joined_ = join_next();
    } while (has_joined_ && joined_.df <= max && lists->postings < list_batch_postings);
    count_for_release(lists->postings);
    return [lists]() -> Lists { return lists->columns(); };
  }

  void count_for_release(std::uint64_t postings) {
    constexpr std::uint64_t postings_per_release = 8 << 20;
    since_release_ += postings;
    if (since_release_ < postings_per_release) return;
    since_release_ = 0;
    lists_.release();
  }

  const JoinedLists& lists_;
  bool makes_pieces_;  ///< long lists come as ListPieces, otherwise those of more than max_list_postings_ as LongLists
  std::uint64_t max_list_postings_;  ///< limit of a list's postings in memory
  std::string tmp_folder_;
  JoinedList joined_;  ///< the current list, unless it was returned
  bool has_joined_ = false;
  std::uint64_t next_piece_ = 0;  ///< of the current list
  term_t terms_ = 0;
  std::uint64_t since_release_ = 0;
  std::string name_;  ///< of the current list
  TermNames names_;
};

}  // namespace

void write_joined_lists(IndexAssembly& assembly, std::vector<std::uint32_t> lengths,
                        const CollectionStatistics& statistics, std::uint64_t expected_postings,
                        const JoinedLists& lists) {
  JoinedListSource source(lists, assembly);
  assembly.write_lists(std::move(lengths), statistics, source, expected_postings,
                       [&](term_t term) { return source.term_at(term); });
}

void visit_documents(const IndexReader& index, docid_t first, docid_t end, const IndexAssembly::DocumentVisit& visit) {
  index.for_each_text(first, end, [&](docid_t docid, std::string_view url, std::string_view title) {
    visit({index.docno(docid), url, title});
  });
}

}  // namespace quern
