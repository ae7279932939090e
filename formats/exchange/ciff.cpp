#include <fmt/format.h>

#include "quern/formats/exchange/inverted_file.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

constexpr std::uint64_t max_int32 = 0x7fffffff, max_int64 = 0x7fffffffffffffff;

/// The encoding of a field's value: the low three bits of its tag.
enum class Wire : unsigned { varint = 0, fixed64 = 1, length = 2, fixed32 = 5 };

constexpr std::uint64_t tag(unsigned field, Wire wire) { return field << 3 | static_cast<unsigned>(wire); }

/// Field numbers of the messages, from the format's description.
namespace header {
constexpr std::uint64_t version = tag(1, Wire::varint), lists = tag(2, Wire::varint), documents = tag(3, Wire::varint),
                        total_lists = tag(4, Wire::varint), total_documents = tag(5, Wire::varint),
                        total_tokens = tag(6, Wire::varint), average_length = tag(7, Wire::fixed64),
                        description = tag(8, Wire::length);
}
namespace list {
constexpr std::uint64_t term = tag(1, Wire::length), df = tag(2, Wire::varint), cf = tag(3, Wire::varint),
                        posting = tag(4, Wire::length);
}
namespace posting {
constexpr std::uint64_t gap = tag(1, Wire::varint), freq = tag(2, Wire::varint);
}
namespace document {
constexpr std::uint64_t docid = tag(1, Wire::varint), docno = tag(2, Wire::length), length = tag(3, Wire::varint);
}

class CiffReader {
 public:
  CiffReader(ByteSource& source, InvertedSink& sink) : in_(source), sink_(sink), check_(0) {}

  void read() {
    read_header();
    check_ = PostingCheck(counts_.documents);
    sink_.begin(counts_);
    for (std::uint64_t i = 0; i < counts_.lists; ++i) read_list();
    for (std::uint64_t i = 0; i < counts_.documents; ++i) read_document(i);
    if (!in_.at_end()) in_.fail("continues after the last document that its header announces");
    sink_.end();
  }

 private:
  /// Reads a message: calls field(tag) for each field, which reads its value and returns true, or returns false if it
  /// doesn't know the field.
  template <class Field>
  void message(std::uint64_t size, Field&& field) {
    if (size > max_int64) in_.fail("a message extends past the end of the file");
    const std::uint64_t end = in_.position() + size;
    while (in_.position() < end) {
      const std::uint64_t key = in_.varint();
      if (!field(key)) skip(key, end);
    }
    if (in_.position() != end) in_.fail("a field extends past the end of its message");
  }

  void skip(std::uint64_t key, std::uint64_t end) {
    switch (static_cast<Wire>(key & 7)) {
      case Wire::varint:
        in_.varint();
        return;
      case Wire::fixed64:
        return in_.skip(8);
      case Wire::fixed32:
        return in_.skip(4);
      case Wire::length: {
        const std::uint64_t size = in_.varint();
        // The position may already be past the message's end.
        if (in_.position() > end || size > end - in_.position())
          in_.fail("a field extends past the end of its message");
        return in_.skip(size);
      }
    }
    in_.fail("invalid Protocol Buffers field; is this a CIFF file?");
  }

  /// A field with a non-negative number.
  struct NumberField {
    std::uint64_t key;
    std::uint64_t& value;
    std::uint64_t max_value = max_int32;
  };
  /// Reads the number of the field with this key; false if none of `fields` has it.
  bool read_number(std::uint64_t key, std::initializer_list<NumberField> fields) {
    for (const NumberField& field : fields) {
      if (field.key != key) continue;
      field.value = in_.varint();
      if (field.value > field.max_value) in_.fail("a number is negative or too large");
      return true;
    }
    return false;
  }

  void read_header() {
    if (in_.at_end()) in_.fail("is empty; is this a CIFF file?");
    std::uint64_t version = 0;
    message(in_.varint(), [&](std::uint64_t key) {
      return read_number(key, {{header::version, version},
                               {header::lists, counts_.lists},
                               {header::documents, counts_.documents},
                               {header::total_documents, counts_.total_documents},
                               {header::total_tokens, counts_.total_tokens, max_int64}});
    });
    if (version != 1)
      throw UnsupportedVersion("{}: has version {} of CIFF, or is not a CIFF file; Quern reads version 1", in_.name(),
                               version);
    counts_.total_documents = std::max(counts_.total_documents, counts_.documents);
  }

  void read_list() {
    const std::uint64_t begin = in_.position();
    std::uint64_t df = 0, postings = 0, docid = 0;
    term_.clear();
    check_.begin_list();
    message(in_.varint(), [&](std::uint64_t key) {
      if (key == list::posting)
        read_posting(docid, postings++ == 0);
      else if (key == list::term)
        in_.string(in_.varint(), term_);
      else
        return read_number(key, {{list::df, df, max_int64}});
      return true;
    });
    if (df != postings)
      in_.fail_at(begin, fmt::format("the list of '{}' has {} postings, but a df of {}", term_, postings, df));
    sink_.end_list(term_);
  }

  void read_posting(std::uint64_t& docid, bool first) {
    std::uint64_t gap = 0, freq = 0;
    message(in_.varint(), [&](std::uint64_t key) {
      return read_number(key, {{posting::gap, gap}, {posting::freq, freq}});
    });
    docid = first ? gap : docid + gap;
    if (const char* wrong = check_.wrong(docid, freq)) in_.fail(wrong);
    sink_.add_posting(static_cast<docid_t>(docid), static_cast<freq_t>(freq));
  }

  void read_document(std::uint64_t expected) {
    std::uint64_t docid = 0, length = 0;
    docno_.clear();
    message(in_.varint(), [&](std::uint64_t key) {
      if (key != document::docno) return read_number(key, {{document::docid, docid}, {document::length, length}});
      in_.string(in_.varint(), docno_);
      return true;
    });
    if (docid != expected) in_.fail(fmt::format("found docID {} where docID {} was expected", docid, expected));
    sink_.add_document(docno_, static_cast<std::uint32_t>(length));
  }

  SourceBytes in_;
  InvertedSink& sink_;
  InvertedCounts counts_;
  PostingCheck check_;
  std::string term_, docno_;
};

/// Writes a number, omitted if 0, as in protocol buffers.
void put_number(Bytes& out, std::uint64_t key, std::uint64_t value) {
  if (value == 0) return;
  put_varint(out, key);
  put_varint(out, value);
}

void put_text(Bytes& out, std::uint64_t key, std::string_view text) {
  if (text.empty()) return;
  put_varint(out, key);
  put_string(out, text);
}

/// Lists up to this size stay in memory.
constexpr std::size_t ciff_list_buffer_bytes = 4 << 20;

void check_fits(std::uint64_t number, const char* what) {
  if (number > max_int32)
    throw InvalidArgument("{} {} are too many for a CIFF file; export to ds2i instead", number, what);
}

}  // namespace

void read_ciff(ByteSource& source, InvertedSink& sink) { CiffReader(source, sink).read(); }

CiffWriter::CiffWriter(File& file, const std::string& tmp_folder)
    : out_(file), postings_(tmp_folder, ciff_list_buffer_bytes) {}

void CiffWriter::put_message() {
  Bytes size;
  put_varint(size, message_.size() + postings_.size());
  out_.write(size);
  out_.write(message_);
  postings_.move_to(out_);
  message_.clear();
}

void CiffWriter::begin(const InvertedCounts& counts) {
  check_fits(counts.lists, "lists");
  check_fits(counts.total_documents, "documents");
  put_number(message_, header::version, 1);
  put_number(message_, header::lists, counts.lists);
  put_number(message_, header::documents, counts.documents);
  put_number(message_, header::total_lists, counts.lists);
  put_number(message_, header::total_documents, counts.total_documents);
  put_number(message_, header::total_tokens, counts.total_tokens);
  if (counts.total_documents > 0 && counts.total_tokens > 0) {
    put_varint(message_, header::average_length);
    put_le(message_, static_cast<double>(counts.total_tokens) / static_cast<double>(counts.total_documents));
  }
  put_text(message_, header::description, std::string("written by quern ") + version());
  put_message();
}

void CiffWriter::add_posting(docid_t docid, freq_t freq) {
  check_fits(freq, "occurrences of a term in a document");
  const std::uint64_t gap = docid - last_;
  posting_.clear();
  put_varint(posting_, list::posting);
  const std::size_t before = posting_.size();
  posting_.push_back(0);
  put_number(posting_, posting::gap, gap);
  put_number(posting_, posting::freq, freq);
  posting_[before] = static_cast<std::uint8_t>(posting_.size() - before - 1);  // at most 12
  postings_.append(posting_);
  last_ = docid;
  ++df_;
  cf_ += freq;
}

void CiffWriter::end_list(std::string_view term) {
  put_text(message_, list::term, term);
  put_number(message_, list::df, df_);
  put_number(message_, list::cf, cf_);
  put_message();
  df_ = cf_ = last_ = 0;
}

void CiffWriter::add_document(std::string_view docno, std::uint32_t length) {
  check_fits(length, "tokens of a document");
  put_number(message_, document::docid, documents_++);
  put_text(message_, document::docno, docno);
  put_number(message_, document::length, length);
  put_message();
}

void CiffWriter::end() { out_.flush(); }

}  // namespace quern
