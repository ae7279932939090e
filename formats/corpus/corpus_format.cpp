#include "quern/formats/corpus/corpus_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quern/core/named.hpp"
#include "quern/formats/corpus/document_fields.hpp"

namespace quern {
namespace {

/// Corpus formats that Quern can't read, with a remedy.
struct UnreadableFormat {
  std::string_view magic;
  std::string_view message;
};
constexpr UnreadableFormat unreadable_formats[] = {
    {"filedesc://", "an ARC file, which Quern can't read; convert it to WARC first"},
    {"\x1f\x9d", "compressed with compress (.Z), which Quern can't read; unpack it first, for example with gzip -d"},
    {"BZh", "compressed with bzip2, which Quern can't read; unpack it, or compress it with gzip or zstd instead"},
    {"\xfd"
     "7zXZ",
     "compressed with xz, which Quern can't read; unpack it, or compress it with gzip or zstd instead"},
    {"PK\x03\x04", "a zip archive, which Quern can't read; unpack it first"},
};

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
    if (place_ == Place::first_line)
      place_ = Place::behind_title;
    else
      end_phrase(out_.body);
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

const std::vector<const CorpusFormat*>& all_corpus_formats() {
  // A TRECWEB file would also pass as TRECTEXT, so it is tried first.
  static const std::vector<const CorpusFormat*> formats = {&trecweb_format, &trectext_format, &warc_format,
                                                           &jsonl_format, &tsv_format};
  return formats;
}

const CorpusFormat& corpus_format_named(std::string_view name) {
  return find_named(all_corpus_formats(), name, "corpus format");
}

const CorpusFormat* find_corpus_format(std::string_view head) {
  for (const CorpusFormat* format : all_corpus_formats())
    if (format->detect(head)) return format;
  return nullptr;
}

const CorpusFormat& detect_corpus_format(std::string_view head, const std::string& file_name) {
  if (const CorpusFormat* format = find_corpus_format(head)) return *format;
  for (const UnreadableFormat& format : unreadable_formats)
    if (head.substr(0, format.magic.size()) == format.magic)
      throw InvalidArgument("{} is {}", file_name, format.message);
  throw InvalidArgument("{}: unknown corpus format: matches none of {}; name the format with {}, or exclude the file",
                        file_name, fmt::join(names_of(all_corpus_formats()), ", "), option_name<"format">);
}

void read_extracted_text(PieceSource& text, RecordScratch& scratch, DocumentText& out) {
  ExtractedLines lines(out);
  for_each_repaired(text, scratch, [&](std::string_view piece) { lines.append(piece); });
  lines.finish();
}

}  // namespace quern
