#include "quern/index/exchange/list_store.hpp"

#include <algorithm>

#include "quern/core/bytes.hpp"

namespace quern {

class ListStore::Source : public ListSource {
 public:
  explicit Source(const ListStore& store) : store_(store), rows_(store.rows_) {}

  bool next(ListBatch& batch) override {
    const Row* row = rows_.peek();
    if (!row) return false;
    if (row->postings > store_.max_list_postings_) {
      batch = LongList{term_++, row->postings, store_.postings_, row->first_posting};
      rows_.pop();
      return true;
    }
    OwnedLists lists;
    while (row && row->postings <= store_.max_list_postings_ && lists.postings.size() < list_batch_postings) {
      take_list(*row, lists.postings);
      rows_.pop();
      row = rows_.peek();
    }
    batch = std::move(lists);
    return true;
  }

 private:
  void take_list(const Row& list, std::vector<Posting>& postings) {
    spooled_.resize(list.postings);
    store_.postings_->read(list.first_posting, spooled_);
    for (const SpooledPosting& posting : spooled_) postings.push_back({term_, posting.docid, posting.freq});
    ++term_;
  }

  const ListStore& store_;
  RecordSpool<Row>::Reader rows_;
  term_t term_ = 0;
  std::vector<SpooledPosting> spooled_;
};

ListStore::ListStore(std::string source, const std::string& tmp_folder, std::uint64_t memory_bytes)
    : source_(std::move(source)),
      // Several batches are in flight at once.
      max_list_postings_(std::clamp<std::uint64_t>(memory_bytes / 16 / sizeof(Posting), 1024, 64 << 10)),
      postings_(std::make_shared<RecordSpool<SpooledPosting>>(tmp_folder)),
      sorted_terms_(tmp_folder, memory_bytes),
      rows_(tmp_folder),
      terms_(tmp_folder) {}

void ListStore::end_list(std::string_view term) {
  if (postings() == list_begin_) return;
  Bytes payload;
  put_le(payload, list_begin_);
  put_le(payload, postings() - list_begin_);
  sorted_terms_.add(term, payload);
  list_begin_ = postings();
}

void ListStore::sort() {
  std::string last;
  sorted_terms_.merge([&](std::string_view term, ByteView payload) {
    if (rows_.count() > 0 && term == last) throw CorruptFile(source_ + ": the term '" + last + "' has two lists");
    last = term;
    terms_.append(as_bytes(term));
    Row row;
    row.first_posting = load_le<std::uint64_t>(payload.data());
    row.postings = load_le<std::uint64_t>(payload.data() + 8);
    row.term_end = terms_.size();
    rows_.add(row);
    if (rows_.count() >= end_docid) throw InvalidArgument("more terms than an index can hold");
  });
  term_rows_.emplace(rows_);
}

std::unique_ptr<ListSource> ListStore::lists() const { return std::make_unique<Source>(*this); }

std::string_view ListStore::term_at(term_t number) {
  for (; next_term_ <= number; ++next_term_, term_rows_->pop()) {
    const std::uint64_t end = term_rows_->peek()->term_end;
    if (next_term_ == number) {
      term_.resize(end - term_begin_);
      terms_.read_array(term_begin_, std::span(term_));
    }
    term_begin_ = end;
  }
  return term_;
}

}  // namespace quern
