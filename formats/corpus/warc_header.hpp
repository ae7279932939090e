#pragma once
#include <cstddef>
#include <string_view>

/// The header of a WARC record, as its finder and parser need it.
namespace quern {

/// The start of a version line ("WARC/1.0"), and the limit of its length.
inline constexpr std::string_view warc_version_start = "WARC/";
inline constexpr std::size_t max_warc_version_line = 16;

/// Whether `text` begins with a version line.
bool begins_with_warc_record(std::string_view text);

/// Fields of the header, as views of the record. Missing ones are empty.
struct WarcHeader {
  std::string_view type;
  std::string_view target_uri;
  std::string_view record_id;
  std::string_view trec_id;
  std::string_view content_type;
  std::string_view languages;  ///< ISO 639-3 codes with commas between, main language first
  std::string_view payload_digest, block_digest;
  std::string_view concurrent_to;  ///< ID of the concurrent record
  std::string_view block;          ///< the part of it in memory
};

/// Reads the header of a record that begins with a version line.
WarcHeader read_warc_header(std::string_view record);

/// WARC-TREC-ID if present, otherwise the record's ID without `<urn:uuid:` and `>`.
std::string_view docno_of(const WarcHeader& header);

}  // namespace quern
