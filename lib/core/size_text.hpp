#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace quern {

/// Bytes from text such as "64M", "1G", "4096", "1.5G": K, M, G, T are powers of 1024, an ending B or iB is allowed.
/// Throws InvalidArgument.
std::uint64_t parse_size(std::string_view text);

/// The size in the largest unit that gives a whole number ("64M"), else with one decimal ("1.4G").
std::string size_text(std::uint64_t bytes);

}  // namespace quern
