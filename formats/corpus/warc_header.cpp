#include "quern/formats/corpus/warc_header.hpp"

#include "quern/core/bytes.hpp"
#include "quern/formats/corpus/http_body.hpp"

namespace quern {
namespace {

/// The X of "<urn:uuid:X>".
std::string_view without_brackets(std::string_view text) {
  if (!text.empty() && text.front() == '<') text.remove_prefix(1);
  if (!text.empty() && text.back() == '>') text.remove_suffix(1);
  return trim(text);
}

}  // namespace

bool begins_with_warc_record(std::string_view text) {
  if (text.substr(0, warc_version_start.size()) != warc_version_start) return false;
  const std::string_view version =
      text.substr(warc_version_start.size(), max_warc_version_line - warc_version_start.size());
  std::size_t at = 0;
  while (at < version.size() && is_ascii_digit(version[at])) ++at;
  if (at == 0 || at == version.size() || version[at] != '.') return false;
  const std::size_t minor = ++at;
  while (at < version.size() && is_ascii_digit(version[at])) ++at;
  return at > minor && (at == version.size() || version[at] == '\r' || version[at] == '\n');
}

WarcHeader read_warc_header(std::string_view record) {
  WarcHeader result;
  take_line(record);  // the version
  while (!record.empty()) {
    const std::string_view line = take_line(record);
    if (line.empty()) break;
    std::string_view name, value;
    if (!split_header(line, name, value)) continue;
    if (equals_ignoring_case(name, "warc-type")) result.type = value;
    if (equals_ignoring_case(name, "warc-target-uri")) result.target_uri = without_brackets(value);
    if (equals_ignoring_case(name, "warc-record-id")) result.record_id = without_brackets(value);
    if (equals_ignoring_case(name, "warc-trec-id")) result.trec_id = value;
    if (equals_ignoring_case(name, "content-type")) result.content_type = value;
    if (equals_ignoring_case(name, "warc-identified-content-language")) result.languages = value;
    if (equals_ignoring_case(name, "warc-payload-digest")) result.payload_digest = value;
    if (equals_ignoring_case(name, "warc-block-digest")) result.block_digest = value;
    if (equals_ignoring_case(name, "warc-concurrent-to")) result.concurrent_to = without_brackets(value);
  }
  result.block = record;
  return result;
}

std::string_view docno_of(const WarcHeader& header) {
  if (!header.trec_id.empty()) return header.trec_id;
  constexpr std::string_view prefix = "urn:uuid:";
  std::string_view id = header.record_id;
  if (starts_with_ignoring_case(id, prefix)) id.remove_prefix(prefix.size());
  return id;
}

}  // namespace quern
