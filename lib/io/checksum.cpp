#include "quern/io/checksum.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace quern {

std::uint64_t xxh3(ByteView bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

Hash128 xxh3_128(ByteView bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace quern
