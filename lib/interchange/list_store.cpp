#include "quern/interchange/list_store.hpp"

#include <algorithm>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

constexpr std::size_t rows_per_read = 4096;
constexpr std::uint64_t posting_bytes = 8;  ///< docID and frequency, as ListBatch has long lists

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

const ListStore::Row& ListStore::RowScan::at(std::uint64_t number, std::uint64_t count) {
  if (number >= first_ + rows_.size()) {
    first_ = number;
    rows_.resize(std::min<std::uint64_t>(rows_per_read, count - number));
    file_.read_at(first_ * sizeof(Row), {reinterpret_cast<std::uint8_t*>(rows_.data()), rows_.size() * sizeof(Row)});
  }
  return rows_[number - first_];
}

class ListStore::Source : public ListSource {
 public:
  explicit Source(const ListStore& store) : store_(store), rows_(store.rows_file_) {}

  bool next(ListBatch& batch) override {
    if (number_ == store_.rows_) return false;
    batch = ListBatch{};
    if (row().postings > store_.max_list_postings_) {
      batch.long_list = store_.postings_file_;
      batch.long_begin = row().first_posting * posting_bytes;
      batch.long_size = row().postings;
      batch.long_term = static_cast<term_t>(number_++);
      return true;
    }
    while (number_ < store_.rows_ && row().postings <= store_.max_list_postings_ &&
           batch.owned.size() < store_.max_list_postings_)
      take_list(batch.owned);
    batch.postings = batch.owned;
    return true;
  }

 private:
  const Row& row() { return rows_.at(number_, store_.rows_); }

  void take_list(std::vector<Posting>& postings) {
    const Row list = row();
    pairs_.resize(2 * list.postings);
    store_.postings_file_->read_at(list.first_posting * posting_bytes,
                                   {reinterpret_cast<std::uint8_t*>(pairs_.data()), list.postings * posting_bytes});
    for (std::size_t i = 0; i < pairs_.size(); i += 2)
      postings.push_back({static_cast<term_t>(number_), pairs_[i], pairs_[i + 1]});
    ++number_;
  }

  const ListStore& store_;
  RowScan rows_;
  std::uint64_t number_ = 0;
  std::vector<std::uint32_t> pairs_;
};

ListStore::ListStore(std::string source, const std::string& tmp_folder, std::uint64_t memory_bytes)
    : source_(std::move(source)),
      // Several batches are in flight at once.
      max_list_postings_(std::clamp<std::uint64_t>(memory_bytes / 16 / sizeof(Posting), 1024, 64 << 10)),
      postings_file_(std::make_shared<File>(File::anonymous(tmp_folder))),
      postings_out_(*postings_file_),
      terms_(tmp_folder, memory_bytes),
      rows_file_(File::anonymous(tmp_folder)),
      terms_file_(File::anonymous(tmp_folder)),
      term_rows_(rows_file_) {}

void ListStore::add_posting(docid_t docid, freq_t freq) {
  std::uint8_t pair[posting_bytes];
  store_le(pair, docid);
  store_le(pair + 4, freq);
  postings_out_.write(pair);
  ++postings_;
}

void ListStore::end_list(std::string_view term) {
  if (postings_ == list_begin_) return;
  Bytes payload;
  put_le(payload, list_begin_);
  put_le(payload, postings_ - list_begin_);
  terms_.add(term, payload);
  ascii_ = ascii_ && is_ascii(term);
  list_begin_ = postings_;
}

void ListStore::sort() {
  postings_out_.flush();
  FileAppender rows(rows_file_), terms(terms_file_);
  std::string last;
  terms_.merge([&](std::string_view term, ByteView payload) {
    if (rows_ > 0 && term == last) throw CorruptFile(source_ + ": the term '" + last + "' has two lists");
    last = term;
    terms.write(as_bytes(term));
    Row row;
    row.first_posting = load_le<std::uint64_t>(payload.data());
    row.postings = load_le<std::uint64_t>(payload.data() + 8);
    row.term_end = terms.position();
    rows.write({reinterpret_cast<const std::uint8_t*>(&row), sizeof row});
    if (++rows_ >= end_docid) throw InvalidArgument("more terms than an index can hold");
  });
  rows.flush();
  terms.flush();
}

std::unique_ptr<ListSource> ListStore::lists() const { return std::make_unique<Source>(*this); }

std::string_view ListStore::term_at(term_t number) {
  for (; next_term_ <= number; ++next_term_) {
    const std::uint64_t end = term_rows_.at(next_term_, rows_).term_end;
    if (next_term_ == number) {
      term_.resize(end - term_begin_);
      terms_file_.read_at(term_begin_, {reinterpret_cast<std::uint8_t*>(term_.data()), term_.size()});
    }
    term_begin_ = end;
  }
  return term_;
}

}  // namespace quern
