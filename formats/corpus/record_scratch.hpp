#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "quern/text/html.hpp"

namespace quern {

struct JsonParser;

/// What parsing records needs again and again: buffers, parsers, counters. One a thread.
struct RecordScratch {
  /// No document may have more bytes than this once its transfer and content encodings are undone.
  std::uint64_t max_document_bytes = std::uint64_t{64} << 20;
  /// Invalid UTF-8 sequences that were replaced, over all records so far.
  std::uint64_t repaired_utf8 = 0;

  HtmlExtractor html;
  std::string text;                  ///< repaired text
  std::string converted;             ///< text brought to UTF-8
  std::string unchunked;             ///< an HTTP body without its chunks' sizes
  std::string decoded;               ///< an HTTP body without its content encoding
  std::shared_ptr<JsonParser> json;  ///< made by the JSONL format when it is first used
};

}  // namespace quern
