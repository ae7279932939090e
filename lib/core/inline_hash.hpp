#pragma once
#include <cstdint>
#include <string_view>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace quern {

/// XXH3-64 of a short text, inlined: for hash tables in hot loops.
inline std::uint64_t inline_hash(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace quern
