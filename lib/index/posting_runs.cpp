#include "quern/index/posting_runs.hpp"

#include <algorithm>
#include <queue>

#include "quern/core/bytes.hpp"
#include "quern/index/posting_sort.hpp"

namespace quern {
namespace {

constexpr std::size_t batch_postings = 64 << 10;
constexpr std::size_t read_buffer_bytes = 64 << 10;

/// Writes a run: for each term a varint of (term + 1), the number of postings, then docID gap and frequency of each;
/// 0 ends the run. docIDs restart with each term.
class RunWriter {
 public:
  RunWriter(File& file, std::uint64_t offset) : out_(file, offset) {}
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
  /// Returns where the run ends in the file.
  std::uint64_t finish() {
    put(0);
    out_.write(buffer_);
    out_.flush();
    return out_.position();
  }

 private:
  void put(std::uint64_t number) {
    put_varint(buffer_, number);
    if (buffer_.size() < 4096) return;
    out_.write(buffer_);
    buffer_.clear();
  }

  FileAppender out_;
  Bytes buffer_;
  docid_t last_ = 0;
};

/// Reads a run back.
class RunScan {
 public:
  RunScan(const File& file, std::uint64_t offset) : file_(&file), offset_(offset), buffer_(read_buffer_bytes) {}

  /// Goes to the next list; the one before has been read to its end.
  bool next_list() {
    const std::uint64_t term_plus_1 = varint();
    if (term_plus_1 == 0) return false;
    term_ = static_cast<term_t>(term_plus_1 - 1);
    left_ = varint();
    docid_ = 0;
    return true;
  }
  bool next_posting() {
    if (left_ == 0) return false;
    --left_;
    docid_ += static_cast<docid_t>(varint());
    freq_ = static_cast<freq_t>(varint());
    return true;
  }
  term_t term() const { return term_; }
  std::uint64_t left() const { return left_; }
  docid_t docid() const { return docid_; }
  freq_t freq() const { return freq_; }

 private:
  std::uint8_t byte() {
    if (at_ == end_) {
      end_ = file_->read_some(offset_, buffer_);
      if (end_ == 0) throw CorruptFile(file_->name() + ": ends too early");
      offset_ += end_;
      at_ = 0;
    }
    return buffer_[at_++];
  }
  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint64_t bits = byte();
      value |= (bits & 0x7f) << shift;
      if (bits < 0x80) return value;
    }
  }

  const File* file_;
  std::uint64_t offset_;
  Bytes buffer_;
  std::size_t at_ = 0, end_ = 0;
  term_t term_ = 0;
  std::uint64_t left_ = 0;
  docid_t docid_ = 0;
  freq_t freq_ = 0;
};

/// Merges runs: lists in the order of their terms, postings in the order of their docIDs.
class RunMerge {
 public:
  /// The runs that begin at these places of the file.
  RunMerge(const File& file, std::span<const std::uint64_t> runs) {
    for (const std::uint64_t run : runs) scans_.emplace_back(file, run);
    for (RunScan& scan : scans_)
      if (scan.next_list()) lists_.push(&scan);
  }

  bool next_list() {
    if (lists_.empty()) return false;
    term_ = lists_.top()->term();
    count_ = 0;
    while (!lists_.empty() && lists_.top()->term() == term_) {
      RunScan* scan = lists_.top();
      lists_.pop();
      count_ += scan->left();
      scan->next_posting();
      postings_.push(scan);
    }
    return true;
  }
  term_t term() const { return term_; }
  std::uint64_t count() const { return count_; }

  /// Appends the postings of the list at hand, run after run, so not in the order of their docIDs; instead of
  /// for_each_posting().
  void append_unsorted(std::vector<Posting>& postings) {
    for (; !postings_.empty(); postings_.pop()) {
      RunScan* scan = postings_.top();
      do {
        postings.push_back({term_, scan->docid(), scan->freq()});
      } while (scan->next_posting());
      if (scan->next_list()) lists_.push(scan);
    }
  }

  /// Calls visit(docid, freq) for the postings of the list at hand, once.
  template <class Visit>
  void for_each_posting(Visit&& visit) {
    while (!postings_.empty()) {
      RunScan* scan = postings_.top();
      postings_.pop();
      // Runs often hold long stretches of documents: go on in this one while it stays ahead.
      const std::uint64_t limit = postings_.empty() ? std::uint64_t{end_docid} + 1 : postings_.top()->docid();
      bool more = true;
      do {
        visit(scan->docid(), scan->freq());
        more = scan->next_posting();
      } while (more && scan->docid() < limit);
      if (more) {
        postings_.push(scan);
      } else if (scan->next_list()) {
        lists_.push(scan);
      }
    }
  }

 private:
  struct LaterTerm {
    bool operator()(const RunScan* a, const RunScan* b) const { return a->term() > b->term(); }
  };
  struct LaterDocid {
    bool operator()(const RunScan* a, const RunScan* b) const { return a->docid() > b->docid(); }
  };
  std::vector<RunScan> scans_;
  std::priority_queue<RunScan*, std::vector<RunScan*>, LaterTerm> lists_;
  std::priority_queue<RunScan*, std::vector<RunScan*>, LaterDocid> postings_;
  term_t term_ = 0;
  std::uint64_t count_ = 0;
};

/// Lists of postings that all lie sorted in memory.
class SortedSource : public ListSource {
 public:
  explicit SortedSource(std::span<const Posting> postings) : left_(postings) {}

  bool next(ListBatch& batch) override {
    if (left_.empty()) return false;
    std::size_t end = std::min(batch_postings, left_.size());
    const term_t last_term = left_[end - 1].term;
    const auto behind = std::upper_bound(left_.begin() + static_cast<std::ptrdiff_t>(end), left_.end(), last_term,
                                         [](term_t term, const Posting& posting) { return term < posting.term; });
    end = static_cast<std::size_t>(behind - left_.begin());
    batch = ListBatch{};
    batch.postings = left_.first(end);
    left_ = left_.subspan(end);
    return true;
  }

 private:
  std::span<const Posting> left_;
};

/// Lists merged from runs on disk.
class MergedSource : public ListSource {
 public:
  MergedSource(const File& file, std::span<const std::uint64_t> runs, std::string tmp_folder,
               std::size_t max_list_postings)
      : merge_(file, runs), tmp_folder_(std::move(tmp_folder)), max_list_postings_(max_list_postings) {
    more_ = merge_.next_list();
  }

  bool next(ListBatch& batch) override {
    if (!more_) return false;
    batch = ListBatch{};
    if (merge_.count() > max_list_postings_) {
      take_long_list(batch);
    } else {
      take_lists(batch);
    }
    return true;
  }

 private:
  void take_lists(ListBatch& batch) {
    const std::size_t limit = std::min(batch_postings, max_list_postings_);
    while (more_ && merge_.count() <= max_list_postings_ && batch.owned.size() < limit) {
      merge_.append_unsorted(batch.owned);
      more_ = merge_.next_list();
    }
    batch.postings = batch.owned;
    batch.sorted = false;
  }

  void take_long_list(ListBatch& batch) {
    File file = File::anonymous(tmp_folder_);
    FileAppender out(file);
    merge_.for_each_posting([&](docid_t docid, freq_t freq) {
      std::uint8_t pair[8];
      store_le(pair, docid);
      store_le(pair + 4, freq);
      out.write(pair);
    });
    out.flush();
    batch.long_term = merge_.term();
    batch.long_size = merge_.count();
    batch.long_list = std::make_shared<const File>(std::move(file));
    more_ = merge_.next_list();
  }

  RunMerge merge_;
  std::string tmp_folder_;
  std::size_t max_list_postings_;
  bool more_ = false;
};

}  // namespace

Inverter::Inverter(std::string tmp_folder, std::uint64_t memory_bytes, unsigned threads)
    : tmp_folder_(std::move(tmp_folder)),
      memory_bytes_(memory_bytes),
      // Two arrays, the sorted one and the scratch.
      max_postings_(std::max<std::size_t>(memory_bytes / (2 * sizeof(Posting)), 1024)),
      threads_(threads) {}

Inverter::~Inverter() = default;

void Inverter::add(std::span<const Posting> postings) {
  while (!postings.empty()) {
    if (postings_.size() == max_postings_) spill();
    if (postings_.capacity() < postings_.size() + postings.size()) {
      // Doubling by hand, so that the last step does not pass the budget.
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
  if (!file_) file_ = File::anonymous(tmp_folder_);
  RunWriter writer(*file_, runs_end_);
  for (std::size_t i = 0; i < postings_.size();) {
    std::size_t end = i + 1;
    while (end < postings_.size() && postings_[end].term == postings_[i].term) ++end;
    writer.begin_list(postings_[i].term, end - i);
    for (; i < end; ++i) writer.add(postings_[i].docid, postings_[i].freq);
  }
  runs_.push_back(runs_end_);
  runs_end_ = writer.finish();
  ++num_runs_;
  postings_.clear();
}

void Inverter::merge_surplus_runs() {
  // Half of the budget for read buffers.
  const std::size_t fan_in = std::clamp<std::size_t>(memory_bytes_ / 2 / read_buffer_bytes, 2, 512);
  while (runs_.size() > fan_in) {
    File file = File::anonymous(tmp_folder_);
    std::vector<std::uint64_t> merged;
    std::uint64_t end = 0;
    for (std::size_t from = 0; from < runs_.size(); from += fan_in) {
      RunWriter writer(file, end);
      RunMerge merge(*file_, std::span(runs_).subspan(from, std::min(fan_in, runs_.size() - from)));
      while (merge.next_list()) {
        writer.begin_list(merge.term(), merge.count());
        merge.for_each_posting([&](docid_t docid, freq_t freq) { writer.add(docid, freq); });
      }
      merged.push_back(end);
      end = writer.finish();
    }
    file_ = std::move(file);
    runs_ = std::move(merged);
  }
}

std::unique_ptr<ListSource> Inverter::finish() {
  if (runs_.empty()) {
    sort_postings(postings_, scratch_, threads_);
    scratch_ = {};
    return std::make_unique<SortedSource>(postings_);
  }
  spill();
  postings_ = {};
  scratch_ = {};
  merge_surplus_runs();
  // Several batches are in flight at once.
  const std::size_t max_list_postings = std::max<std::size_t>(memory_bytes_ / 16 / sizeof(Posting), 1024);
  return std::make_unique<MergedSource>(*file_, runs_, tmp_folder_, max_list_postings);
}

}  // namespace quern
