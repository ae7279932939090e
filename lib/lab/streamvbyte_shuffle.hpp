#pragma once
#include <cstddef>
#include <cstdint>

namespace quern {

/// Decodes what the StreamVByte library encodes, four values per byte shuffle, as in its paper (Lemire, Kurz, Rupp:
/// Stream VByte: Faster Byte-Oriented Integer Compression, section 3). Debian 12 builds the library without SIMD, and
/// comparing with that alone would be unfair. Reads up to 16 bytes past its input and writes up to 3 values past the n.
/// Returns the bytes read. Trusts its input.
std::size_t decode_streamvbyte(const std::uint8_t* bytes, std::size_t n, std::uint32_t* out);

/// The same if the values are differences, the first from `before`.
std::size_t decode_streamvbyte_deltas(const std::uint8_t* bytes, std::size_t n, std::uint32_t before,
                                      std::uint32_t* out);

}  // namespace quern
