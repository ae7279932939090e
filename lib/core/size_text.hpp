#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// Parses a size such as "64M", "1G", "4096" or "1.5G": K, M, G and T are powers of 1024, and a final B or iB is
/// allowed. Throws InvalidArgument.
std::uint64_t parse_size(std::string_view text);

/// The size as an integer in the largest unit if it is one ("64M"), otherwise with one decimal ("1.4G").
std::string size_text(std::uint64_t bytes);

/// "1 term", "2 terms"; "2 queries" with a plural of its own.
std::string count_text(std::uint64_t count, const std::string& noun, const std::string& plural = {});

}  // namespace quern
