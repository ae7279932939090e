#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "quern/formats/corpus/record_finder.hpp"

namespace quern {

/// Cuts WARC files into records, header and block, by Content-Length where it leads to the next record or the file's
/// end, else at the next version line; the rules stand in warc.md.
std::unique_ptr<RecordFinder> make_warc_record_finder(std::uint64_t max_record_bytes);

/// Whether `text` begins with a version line ("WARC/1.0").
bool begins_with_warc_record(std::string_view text);

}  // namespace quern
