#pragma once
#include <algorithm>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/formats/corpus/corpus_format.hpp"

#include "../text/plain_document.hpp"

/// Shared by tests and fuzz targets of the corpus formats.
namespace quern::testing {

/// A record, or a bad range, of a file.
struct Piece {
  std::uint64_t offset = 0;
  std::string text;    ///< text of a record
  std::string reason;  ///< reason of a bad range
  bool operator==(const Piece&) const = default;
};

/// Provides a file's bytes past the window.
class FileAhead final : public LookAhead {
 public:
  explicit FileAhead(std::string_view file) : file_(file) {}
  std::string peek(std::uint64_t offset, std::size_t size) override {
    return std::string(file_.substr(std::min<std::uint64_t>(offset, file_.size()), size));
  }

 private:
  std::string_view file_;
};

/// All pieces of a file that is read in steps of `step` bytes, as by a reader with a growing window.
inline std::vector<Piece> cut_records(const CorpusFormat& format, std::string_view file, std::size_t step,
                                      const RecordLimits& limits = {.max_record_bytes = 1 << 20}) {
  const std::unique_ptr<RecordFinder> finder = format.make_finder(limits);
  FileAhead ahead(file);
  std::vector<Piece> pieces;
  std::string parts;
  std::size_t begin = 0, end = 0, calls = 0;
  for (;;) {
    // A copy, so that sanitizers detect reads past the window.
    const std::string window(file.substr(begin, end - begin));
    const RecordFinder::Found found = finder->next(window, begin, end == file.size(), ahead);
    const std::uint64_t found_offset = begin + found.begin;
    if (found.kind != RecordFinder::Found::record && found.consumed > window.size())
      throw std::logic_error("more consumed than available");
    if (found_offset + found.size > file.size()) throw std::logic_error("found a record past the end");
    if (++calls > 8 * file.size() + 16) throw std::logic_error("no progress");
    switch (found.kind) {
      case RecordFinder::Found::record:
        pieces.push_back({found_offset - parts.size(), parts + std::string(file.substr(found_offset, found.size)), ""});
        parts.clear();
        break;
      case RecordFinder::Found::part:
        parts += window.substr(found.begin, found.size);
        if (parts.size() <= limits.max_in_memory) throw std::logic_error("a part of a small record");
        break;
      case RecordFinder::Found::bad:
        pieces.push_back({found.offset, "", found.reason});
        parts.clear();
        break;
      case RecordFinder::Found::too_large:
        parts.clear();
        [[fallthrough]];
      case RecordFinder::Found::need_more:
        if (end == file.size()) throw std::logic_error("more wanted at the end");
        end = std::min(end + step, file.size());
        break;
      case RecordFinder::Found::end:
        return pieces;
    }
    begin += found.consumed;
    end = std::max(begin, end);
  }
}

/// The records only, if nothing is bad.
inline std::vector<std::string> record_texts(const CorpusFormat& format, std::string_view file) {
  std::vector<std::string> texts;
  for (Piece& piece : cut_records(format, file, file.size() + 1)) texts.push_back(std::move(piece.text));
  return texts;
}

/// A parsed record, with phrase ends shown as '|'.
struct Parsed {
  ParsedRecord result;
  PlainDocument document;
  std::vector<std::pair<std::string, std::uint32_t>> weights;
  std::uint64_t repaired_utf8 = 0;
};

inline Parsed parse_record(const CorpusFormat& format, const RecordText& record,
                           std::uint64_t max_document_bytes = 1 << 20, std::optional<ImpactSettings> impacts = {},
                           const FieldNames& names = {}) {
  RecordScratch scratch;
  scratch.json_keys = JsonKeys(names, impacts.has_value());
  scratch.impacts = impacts;
  scratch.max_document_bytes = max_document_bytes;
  Parsed parsed;
  DocumentText text;
  parsed.result = format.parse(record, scratch, text);
  parsed.document = PlainDocument(text);
  text.weights.for_each(
      [&](std::string_view term, std::uint32_t weight) { parsed.weights.emplace_back(term, weight); });
  parsed.repaired_utf8 = scratch.repaired_utf8;
  for (std::string* stream : {&parsed.document.title, &parsed.document.body}) {
    for (char& c : *stream) c = c == phrase_end ? '|' : c;
  }
  return parsed;
}

/// As above for a record in a spool, read in pieces of limited size.
inline Parsed parse_in_pieces(const CorpusFormat& format, std::string_view record, std::size_t piece_bytes,
                              std::uint64_t max_document_bytes = 1 << 20, std::optional<ImpactSettings> impacts = {}) {
  Spool spool(std::filesystem::temp_directory_path().string());
  spool.append(as_bytes(record));
  return parse_record(format, RecordText(spool, piece_bytes), max_document_bytes, impacts);
}

/// Whether two ways of parsing a record gave the same result. Reasons for bad records may differ in wording.
inline bool same_record(const Parsed& a, const Parsed& b) {
  if (a.result.kind != b.result.kind) return false;
  if (a.result.kind == RecordKind::bad) return a.result.reason.substr(0, 12) == b.result.reason.substr(0, 12);
  if (a.result.kind == RecordKind::skipped) return a.result.reason == b.result.reason;
  return a.result.remark == b.result.remark && a.document == b.document && a.weights == b.weights &&
         a.repaired_utf8 == b.repaired_utf8;
}

/// Parses a record that must be a document.
inline PlainDocument parsed_document(const CorpusFormat& format, std::string_view record) {
  const Parsed parsed = parse_record(format, record);
  if (parsed.result.kind != RecordKind::document)
    throw std::logic_error("no document: " + std::string(record) + ": " + parsed.result.reason);
  return parsed.document;
}

/// Why a record is bad; empty if it isn't.
inline std::string why_bad(const CorpusFormat& format, std::string_view record) {
  const Parsed parsed = parse_record(format, record);
  return parsed.result.kind == RecordKind::bad ? parsed.result.reason : "";
}

}  // namespace quern::testing
