#include "token_text.hpp"

#include <fmt/format.h>

#include "quern/formats/forward_file.hpp"

#include "command.hpp"
#include "figures.hpp"

namespace quern::tools {
namespace {

/// Writes the phrases of a document as they come.
class PhrasePrinter {
 public:
  explicit PhrasePrinter(bool json) : json_(json) {}

  void add(DocumentStream stream, std::string_view term) {
    if (!has_stream_ || stream != stream_) begin_stream(stream);
    if (term.empty()) return end_phrase();
    if (json_) {
      text_ += in_phrase_ ? "," : has_phrase_ ? ",[" : "[";
      text_ += json_text(term);
    } else {
      text_ += in_phrase_ ? std::string(" ") : fmt::format("{}\t", name_of(stream));
      text_ += term;
    }
    in_phrase_ = has_phrase_ = true;
    if (text_.size() > 64 << 10) flush();
  }
  void end() {
    end_stream();
    flush();
  }

 private:
  static std::string_view name_of(DocumentStream stream) {
    return document_stream_names[static_cast<std::size_t>(stream)];
  }
  void begin_stream(DocumentStream stream) {
    end_stream();
    if (json_) text_ += fmt::format(",\"{}\":[", name_of(stream));
    stream_ = stream;
    has_stream_ = true;
    has_phrase_ = false;
  }
  void end_stream() {
    end_phrase();
    if (json_ && has_stream_) text_ += "]";
    has_stream_ = false;
  }
  void end_phrase() {
    if (in_phrase_) text_ += json_ ? "]" : "\n";
    in_phrase_ = false;
  }
  void flush() {
    print(text_);
    text_.clear();
  }

  bool json_;
  bool has_stream_ = false, has_phrase_ = false, in_phrase_ = false;
  DocumentStream stream_ = DocumentStream::title;
  std::string text_;
};

}  // namespace

void print_tokens(const IndexReader& index, const ForwardReader& forward, docid_t docid, bool json) {
  const StaticNumbers numbers = forward.numbers(docid);
  if (json)
    print(
        fmt::format("{{\"docid\":{},\"docno\":{},\"url_bytes\":{},\"url_depth\":{},\"links\":{},\"out_links\":{},"
                    "\"in_links\":{}",
                    docid, json_text(index.docno(docid)), numbers.url_bytes, numbers.url_depth, numbers.links,
                    numbers.out_links, numbers.in_links));
  PhrasePrinter printer(json);
  for_each_token(forward, index, docid,
                 [&](DocumentStream stream, std::string_view term) { printer.add(stream, term); });
  printer.end();
  if (json) print("}\n");
}

}  // namespace quern::tools
