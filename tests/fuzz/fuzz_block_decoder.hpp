#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "quern/codec/codec.hpp"
#include "quern/core/error.hpp"

namespace quern::fuzz {

/// Decodes hostile words as a list of one block: bytes 0 to 3 are block size, recursion and n; the rest are words.
/// Buffers have exactly the size that the contract requires, so a sanitizer detects any access beyond.
inline void decode_block(const Codec& codec, const std::uint8_t* data, std::size_t size) {
  if (size < 4) return;
  const CodecOptions options{64u << data[0] % 4, data[1] % 5u};
  const unsigned n = 1 + (data[2] | data[3] << 8) % options.block_size;
  const std::size_t count = (size - 4) / 4;
  std::vector<std::uint32_t> words(count + over_read_bytes / 4);
  if (count != 0) std::memcpy(words.data(), data + 4, 4 * count);
  const WordView list(words.data(), count);
  std::vector<std::uint32_t> out(n + over_write_values);
  const auto survive = [](const auto& what) {
    try {
      what();
    } catch (const CorruptFile&) {
    }
  };
  survive([&] {
    const auto decoder = codec.make_decoder(options, list);
    const WordView block = list.subspan(codec.header_words(options));
    survive([&] {
      if (decoder->block_words(block, n) > block.size()) __builtin_trap();
    });
    survive([&] { decoder->decode_docids(block, n, end_docid, out.data()); });
    // If all frequencies decode, decoding a single one gives the same value.
    survive([&] {
      decoder->decode_freqs(block, n, out.data());
      for (unsigned i : {0u, n / 2, n - 1})
        if (decoder->freq_at(block, n, i) != out[i]) __builtin_trap();
    });
  });
}

}  // namespace quern::fuzz
