#include "quern/index/inverter.hpp"

#include <queue>

namespace quern {
namespace {

constexpr std::size_t read_buffer_bytes = 64 << 10;

/// Writes a run: for each term a varint of (term + 1), the number of postings, then docID gap and frequency of each;
/// 0 ends the run. docIDs restart with each term.
class RunWriter {
 public:
  explicit RunWriter(Spool& out) : out_(out) {}
  void begin_list(term_t term, std::uint64_t count) {
    put(std::uint64_t{term} + 1);
    put(count);
    last_ = 0;
  }
  void add(docid_t docid, freq_t freq) {
    put(docid - last_);
    put(freq);
    last_ = docid;
  }
  void finish() {
    put(0);
    out_.append(buffer_);
  }

 private:
  void put(std::uint64_t number) {
    put_varint(buffer_, number);
    if (buffer_.size() < 4096) return;
    out_.append(buffer_);
    buffer_.clear();
  }

  Spool& out_;
  Bytes buffer_;
  docid_t last_ = 0;
};

/// Reads a run back.
class PostingRunReader {
 public:
  PostingRunReader(const Spool& spool, const SpooledRuns::Run& run)
      : bytes_(spool, run.begin, run.end, read_buffer_bytes) {}

  /// Moves to the next list; the previous one must have been read to its end.
  bool next_list() {
    const std::uint64_t term_plus_1 = bytes_.varint();
    if (term_plus_1 == 0) return false;
    term_ = static_cast<term_t>(term_plus_1 - 1);
    left_ = bytes_.varint();
    docid_ = 0;
    return true;
  }
  bool next_posting() {
    if (left_ == 0) return false;
    --left_;
    docid_ += static_cast<docid_t>(bytes_.varint());
    freq_ = static_cast<freq_t>(bytes_.varint());
    return true;
  }
  term_t term() const { return term_; }
  std::uint64_t left() const { return left_; }
  docid_t docid() const { return docid_; }
  freq_t freq() const { return freq_; }

 private:
  SpoolReader bytes_;
  term_t term_ = 0;
  std::uint64_t left_ = 0;
  docid_t docid_ = 0;
  freq_t freq_ = 0;
};

/// Merges runs: lists in term order, postings in docID order.
class SortedRunMerge {
 public:
  SortedRunMerge(const Spool& spool, std::span<const SpooledRuns::Run> runs) {
    for (const SpooledRuns::Run& run : runs) readers_.emplace_back(spool, run);
    for (PostingRunReader& reader : readers_)
      if (reader.next_list()) lists_.push(&reader);
  }

  bool next_list() {
    if (lists_.empty()) return false;
    term_ = lists_.top()->term();
    count_ = 0;
    while (!lists_.empty() && lists_.top()->term() == term_) {
      PostingRunReader* reader = lists_.top();
      lists_.pop();
      count_ += reader->left();
      reader->next_posting();
      postings_.push(reader);
    }
    return true;
  }
  term_t term() const { return term_; }
  std::uint64_t count() const { return count_; }

  /// Appends the current list's postings run after run, so not in docID order; an alternative to for_each_posting().
  void append_unsorted(std::vector<Posting>& postings) {
    for (; !postings_.empty(); postings_.pop()) {
      PostingRunReader* reader = postings_.top();
      do {
        postings.push_back({term_, reader->docid(), reader->freq()});
      } while (reader->next_posting());
      if (reader->next_list()) lists_.push(reader);
    }
  }

  /// Calls visit(docid, freq) for the current list's postings. Call once per list.
  template <class Visit>
  void for_each_posting(Visit&& visit) {
    while (!postings_.empty()) {
      PostingRunReader* reader = postings_.top();
      postings_.pop();
      // Runs often contain long ranges of documents: continue with this one while it stays ahead.
      const std::uint64_t limit = postings_.empty() ? std::uint64_t{end_docid} + 1 : postings_.top()->docid();
      bool more = true;
      do {
        visit(reader->docid(), reader->freq());
        more = reader->next_posting();
      } while (more && reader->docid() < limit);
      if (more)
        postings_.push(reader);
      else if (reader->next_list())
        lists_.push(reader);
    }
  }

 private:
  struct LaterTerm {
    bool operator()(const PostingRunReader* a, const PostingRunReader* b) const { return a->term() > b->term(); }
  };
  struct LaterDocid {
    bool operator()(const PostingRunReader* a, const PostingRunReader* b) const { return a->docid() > b->docid(); }
  };
  std::vector<PostingRunReader> readers_;
  std::priority_queue<PostingRunReader*, std::vector<PostingRunReader*>, LaterTerm> lists_;
  std::priority_queue<PostingRunReader*, std::vector<PostingRunReader*>, LaterDocid> postings_;
  term_t term_ = 0;
  std::uint64_t count_ = 0;
};

/// Lists whose postings are all sorted in memory.
class SortedSource : public ListSource {
 public:
  explicit SortedSource(std::span<Posting> postings) : left_(postings) {}

  bool next(ListBatch& batch) override {
    if (left_.empty()) return false;
    std::size_t end = std::min(list_batch_postings, left_.size());
    const term_t last_term = left_[end - 1].term;
    const auto after = std::upper_bound(left_.begin() + static_cast<std::ptrdiff_t>(end), left_.end(), last_term,
                                        [](term_t term, const Posting& posting) { return term < posting.term; });
    end = static_cast<std::size_t>(after - left_.begin());
    batch = ViewedLists{left_.first(end)};
    left_ = left_.subspan(end);
    return true;
  }

 private:
  std::span<Posting> left_;
};

/// Lists merged from runs on disk.
class MergedSource : public ListSource {
 public:
  MergedSource(const SpooledRuns& runs, std::size_t max_list_postings)
      : merge_(runs.bytes, runs.runs), tmp_folder_(runs.tmp_folder), max_list_postings_(max_list_postings) {
    more_ = merge_.next_list();
  }

  bool next(ListBatch& batch) override {
    if (!more_) return false;
    if (merge_.count() > max_list_postings_)
      batch = take_long_list();
    else
      batch = take_lists();
    return true;
  }

 private:
  UnsortedLists take_lists() {
    const std::size_t limit = std::min(list_batch_postings, max_list_postings_);
    UnsortedLists lists;
    while (more_ && merge_.count() <= max_list_postings_ && lists.postings.size() < limit) {
      merge_.append_unsorted(lists.postings);
      more_ = merge_.next_list();
    }
    return lists;
  }

  LongList take_long_list() {
    auto postings = std::make_shared<RecordSpool<SpooledPosting>>(tmp_folder_);
    merge_.for_each_posting([&](docid_t docid, freq_t freq) { postings->add({docid, freq}); });
    LongList list{merge_.term(), merge_.count(), std::move(postings)};
    more_ = merge_.next_list();
    return list;
  }

  SortedRunMerge merge_;
  std::string tmp_folder_;
  std::size_t max_list_postings_;
  bool more_ = false;
};

}  // namespace

Inverter::Inverter(const std::string& tmp_folder, std::uint64_t memory_bytes, unsigned threads)
    : memory_bytes_(memory_bytes),
      // Two arrays: postings and scratch.
      max_postings_(std::max<std::size_t>(memory_bytes / (2 * sizeof(Posting)), 1024)),
      threads_(threads),
      runs_(tmp_folder) {}

void Inverter::expect(std::uint64_t postings) { postings_.reserve(std::min<std::uint64_t>(postings, max_postings_)); }

void Inverter::add(std::span<const Posting> postings) {
  while (!postings.empty()) {
    if (postings_.size() == max_postings_) spill();
    if (postings_.capacity() < postings_.size() + postings.size()) {
      // Doubles the capacity explicitly, so that the last step stays within the budget.
      postings_.reserve(
          std::min(max_postings_, std::max(postings_.size() + postings.size(), postings_.capacity() * 2)));
    }
    const auto some = postings.first(std::min(postings.size(), max_postings_ - postings_.size()));
    postings_.insert(postings_.end(), some.begin(), some.end());
    postings = postings.subspan(some.size());
  }
}

void Inverter::spill() {
  sort_postings(postings_, scratch_, threads_);
  RunWriter writer(runs_.bytes);
  for (std::size_t i = 0; i < postings_.size();) {
    std::size_t end = i + 1;
    while (end < postings_.size() && postings_[end].term == postings_[i].term) ++end;
    writer.begin_list(postings_[i].term, end - i);
    for (; i < end; ++i) writer.add(postings_[i].docid, postings_[i].freq);
  }
  writer.finish();
  runs_.end_run();
  ++num_runs_;
  postings_.clear();
}

void Inverter::merge_surplus_runs() {
  // Half of the budget for read buffers.
  const std::size_t fan_in = std::clamp<std::size_t>(memory_bytes_ / 2 / read_buffer_bytes, 2, 512);
  runs_.merge_down_to(fan_in, [](const Spool& from, std::span<const SpooledRuns::Run> group, Spool& to) {
    RunWriter writer(to);
    SortedRunMerge merge(from, group);
    while (merge.next_list()) {
      writer.begin_list(merge.term(), merge.count());
      merge.for_each_posting([&](docid_t docid, freq_t freq) { writer.add(docid, freq); });
    }
    writer.finish();
  });
}

std::unique_ptr<ListSource> Inverter::finish(std::size_t batches_in_flight) {
  if (runs_.runs.empty()) {
    sort_postings(postings_, scratch_, threads_);
    scratch_ = {};
    return std::make_unique<SortedSource>(postings_);
  }
  spill();
  postings_ = {};
  scratch_ = {};
  merge_surplus_runs();
  // A posting in flight needs space in a growing array, in a scratch array for sorting, and encoded; half of the budget
  // is for read buffers.
  constexpr std::size_t posting_bytes = 3 * sizeof(Posting) + 8;
  const std::size_t max_list_postings =
      std::max<std::size_t>(memory_bytes_ / 2 / batches_in_flight / posting_bytes, 1024);
  return std::make_unique<MergedSource>(runs_, max_list_postings);
}

}  // namespace quern
