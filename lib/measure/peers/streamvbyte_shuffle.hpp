#pragma once
#include <cstddef>
#include <cstdint>

namespace quern {

/// Decodes what StreamVByte's library encodes, four values by one byte shuffle, as its paper has it (Lemire, Kurz,
/// Rupp: Stream VByte: Faster Byte-Oriented Integer Compression, section 3). Debian 12 builds the library without SIMD,
/// and a comparison with that alone would flatter us. Reads up to 16 bytes behind the bytes and writes up to 3 values
/// behind the n. Returns the bytes read. Trusts its input.
std::size_t decode_streamvbyte(const std::uint8_t* bytes, std::size_t n, std::uint32_t* out);

/// The same, where the values are differences, the first from `before`.
std::size_t decode_streamvbyte_deltas(const std::uint8_t* bytes, std::size_t n, std::uint32_t before,
                                      std::uint32_t* out);

}  // namespace quern
