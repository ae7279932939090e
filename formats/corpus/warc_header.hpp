#pragma once
#include <cstddef>
#include <string_view>

/// The header of a WARC record: what its finder and its parser both know.
namespace quern {

/// A version line ("WARC/1.0") begins so, and is shorter than the second of these.
inline constexpr std::string_view warc_version_start = "WARC/";
inline constexpr std::size_t max_warc_version_line = 16;

/// Whether `text` begins with a version line.
bool begins_with_warc_record(std::string_view text);

/// The header fields that matter here, as views of the record. Parts that are missing are empty.
struct WarcHeader {
  std::string_view type;
  std::string_view target_uri;
  std::string_view record_id;
  std::string_view trec_id;
  std::string_view content_type;
  std::string_view languages;  ///< ISO 639-3 with commas between, the page's main one first
  std::string_view payload_digest, block_digest;
  std::string_view concurrent_to;  ///< the id of the record that belongs to this one
  std::string_view block;          ///< of what is in memory
};

/// Reads the header of a record that begins with a version line.
WarcHeader read_warc_header(std::string_view record);

/// WARC-TREC-ID; else the record's id without `<urn:uuid:` and `>`.
std::string_view docno_of(const WarcHeader& header);

}  // namespace quern
