#include "quern/formats/corpus/extracted_text.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "quern/core/bytes.hpp"
#include "quern/formats/corpus/document_fields.hpp"

namespace quern {
namespace {

/// Lines read in pieces, without leading white space.
class ExtractedLines {
 public:
  explicit ExtractedLines(DocumentText& out) : out_(out) {}

  void append(std::string_view text) {
    while (!text.empty()) {
      if (at_line_begin_) {
        while (!text.empty() && is_ascii_space(text.front())) text.remove_prefix(1);
        if (text.empty()) return;
        at_line_begin_ = false;
        if (place_ == Place::behind_title) put_title();
      }
      const std::size_t end = std::min(text.find('\n'), text.size());
      append_to_line(text.substr(0, end));
      if (end == text.size()) return;
      text.remove_prefix(end + 1);
      end_line();
    }
  }
  void finish() {
    if (place_ != Place::body) out_.body += first_;
  }

 private:
  enum class Place {
    first_line,    ///< stored in first_
    behind_title,  ///< the first line is a title if text follows
    body
  };

  void append_to_line(std::string_view text) {
    if (place_ == Place::first_line && first_.size() + text.size() <= max_extracted_title_bytes) {
      first_ += text;
      return;
    }
    if (place_ == Place::first_line) {
      out_.body += first_;
      place_ = Place::body;
    }
    out_.body += text;
  }
  void end_line() {
    at_line_begin_ = true;
    if (place_ == Place::first_line) {
      place_ = Place::behind_title;
    } else {
      end_phrase(out_.body);
    }
  }
  void put_title() {
    out_.title += trim(first_);
    place_ = Place::body;
  }

  DocumentText& out_;
  Place place_ = Place::first_line;
  bool at_line_begin_ = true;
  std::string first_;
};

}  // namespace

void read_extracted_text(PieceSource& text, RecordScratch& scratch, DocumentText& out) {
  ExtractedLines lines(out);
  for_each_repaired(text, scratch, [&](std::string_view piece) { lines.append(piece); });
  lines.finish();
}

}  // namespace quern
