#include <fmt/format.h>

#include "quern/formats/exchange/inverted_file.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

class Ds2iReader {
 public:
  Ds2iReader(const Ds2iSources& sources, InvertedSink& sink)
      : docs_(sources.docs),
        freqs_(sources.freqs),
        sizes_(sources.sizes),
        terms_(sources.terms),
        documents_(sources.documents),
        sink_(sink) {}

  void read() {
    InvertedCounts counts;
    if (docs_.at_end() || docs_.le32() != 1) docs_.fail("does not begin with 1 and the number of documents");
    counts.documents = docs_.le32();
    if (counts.documents >= end_docid) docs_.fail("an impossible number of documents");
    counts.total_documents = counts.documents;
    sink_.begin(counts);
    PostingCheck check(counts.documents);
    while (!docs_.at_end()) read_list(check);
    if (!freqs_.at_end()) freqs_.fail("has more lists than " + docs_.name());
    if (terms_.line(name_)) terms_.fail("has more lines than " + docs_.name() + " has lists");
    read_documents(counts.documents);
    sink_.end();
  }

 private:
  void read_list(PostingCheck& check) {
    const std::uint32_t size = docs_.le32();
    if (freqs_.le32() != size) freqs_.fail("the list's length differs from that in " + docs_.name());
    check.begin_list();
    for (std::uint32_t i = 0; i < size; ++i) {
      const docid_t docid = docs_.le32();
      const freq_t freq = freqs_.le32();
      if (const char* wrong = check.wrong(docid, freq)) (freq == 0 ? freqs_ : docs_).fail(wrong);
      sink_.add_posting(docid, freq);
    }
    if (!terms_.line(name_)) terms_.fail("has fewer lines than " + docs_.name() + " has lists");
    sink_.end_list(name_);
  }

  void read_documents(std::uint64_t documents) {
    if (sizes_.at_end() || sizes_.le32() != documents)
      sizes_.fail(
          fmt::format("does not begin with the number of documents, which is {} in {}", documents, docs_.name()));
    for (std::uint64_t i = 0; i < documents; ++i) {
      const std::uint32_t length = sizes_.le32();
      if (!documents_.line(name_)) documents_.fail(fmt::format("has fewer than {} lines", documents));
      sink_.add_document(name_, length);
    }
    if (!sizes_.at_end()) sizes_.fail("continues after the documents' lengths");
    if (documents_.line(name_)) documents_.fail(fmt::format("has more than {} lines", documents));
  }

  SourceBytes docs_, freqs_, sizes_, terms_, documents_;
  InvertedSink& sink_;
  std::string name_;
};

void put_u32(FileAppender& out, std::uint64_t number) {
  std::uint8_t bytes[4];
  store_le(bytes, static_cast<std::uint32_t>(number));
  out.write(bytes);
}

void put_line(FileAppender& out, std::string_view text) {
  const bool fits = text.find('\n') == std::string_view::npos && (text.empty() || text.back() != '\r');
  if (!fits)
    throw InvalidArgument("'{}' contains a line break, which ds2i files can't represent; export to ciff", text);
  out.write(as_bytes(text));
  out.write(as_bytes("\n"));
}

/// Lists up to this size stay in memory.
constexpr std::size_t ds2i_list_buffer_bytes = 4 << 20;

/// Writes a sequence: the number of values, then the values.
void put_sequence(FileAppender& out, Spool& numbers) {
  put_u32(out, numbers.size() / sizeof(std::uint32_t));
  numbers.move_to(out);
}

}  // namespace

void read_ds2i(const Ds2iSources& sources, InvertedSink& sink) { Ds2iReader(sources, sink).read(); }

Ds2iWriter::Ds2iWriter(const std::array<File*, 5>& files, const std::string& tmp_folder)
    : docs_(*files[0]),
      freqs_(*files[1]),
      sizes_(*files[2]),
      terms_(*files[3]),
      documents_(*files[4]),
      list_docids_(tmp_folder, ds2i_list_buffer_bytes),
      list_freqs_(tmp_folder, ds2i_list_buffer_bytes) {}

void Ds2iWriter::begin(const InvertedCounts& counts) {
  put_u32(docs_, 1);
  put_u32(docs_, counts.documents);
  put_u32(sizes_, counts.documents);
}

void Ds2iWriter::add_posting(docid_t docid, freq_t freq) {
  list_docids_.append_array(std::span(&docid, 1));
  list_freqs_.append_array(std::span(&freq, 1));
}

void Ds2iWriter::end_list(std::string_view term) {
  put_line(terms_, term);
  put_sequence(docs_, list_docids_);
  put_sequence(freqs_, list_freqs_);
}

void Ds2iWriter::add_document(std::string_view docno, std::uint32_t length) {
  put_line(documents_, docno);
  put_u32(sizes_, length);
}

void Ds2iWriter::end() {
  for (FileAppender* out : {&docs_, &freqs_, &sizes_, &terms_, &documents_}) out->flush();
}

}  // namespace quern
