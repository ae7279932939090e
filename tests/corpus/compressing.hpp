#pragma once
#include <bzlib.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace quern::testing {

/// Compresses with zlib. `window_bits`: MAX_WBITS + 16 for a gzip member, MAX_WBITS for the zlib format, negative for
/// raw deflate.
inline std::string deflated(std::string_view text, int window_bits) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) throw std::runtime_error("can't deflate");
  return out;
}

inline std::string gzipped(std::string_view text) { return deflated(text, MAX_WBITS + 16); }

/// One zstd frame.
inline std::string zstd_packed(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// One bzip2 stream.
inline std::string bzip2_packed(std::string_view text) {
  std::string out(text.size() + text.size() / 100 + 600, '\0');
  unsigned size = static_cast<unsigned>(out.size());
  if (BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()), static_cast<unsigned>(text.size()), 1,
                               0, 0) != BZ_OK)
    throw std::runtime_error("can't compress with bzip2");
  out.resize(size);
  return out;
}

/// One xz stream, with a dictionary of 256 KiB (preset 0) to 64 MiB (preset 9).
inline std::string xz_packed(std::string_view text, std::uint32_t preset = 0) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  if (lzma_easy_buffer_encode(preset, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()),
                              text.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) != LZMA_OK)
    throw std::runtime_error("can't compress with xz");
  out.resize(size);
  return out;
}

/// LZW as compress(1) writes it, with codes of up to `max_bits` bits. Empties the table as soon as it is full.
inline std::string lzw_packed(std::string_view text, unsigned max_bits = 16) {
  constexpr unsigned min_bits = 9, clear = 256;
  std::string out{'\x1f', '\x9d', static_cast<char>(0x80 | max_bits)};
  std::map<std::pair<unsigned, char>, unsigned> table;
  unsigned bits = min_bits, next = clear + 1, codes = 0, waiting = 0, num_waiting = 0;
  const auto put = [&](unsigned code) {
    waiting |= code << num_waiting;
    for (num_waiting += bits, ++codes; num_waiting >= 8; num_waiting -= 8, waiting >>= 8)
      out += static_cast<char>(waiting);
  };
  const auto change_bits = [&](unsigned now) {
    while (codes % 8 != 0) put(0);
    bits = now;
  };
  std::optional<unsigned> prefix;
  for (const char c : text) {
    const unsigned byte = static_cast<unsigned char>(c);
    const auto known = prefix ? table.find({*prefix, c}) : table.end();
    if (!prefix || known != table.end()) {
      prefix = prefix ? known->second : byte;
      continue;
    }
    put(*prefix);
    // A reader, which is one entry behind, widens its codes before the next one.
    if (next == 1u << bits && bits < max_bits) change_bits(bits + 1);
    if (next < 1u << max_bits) {
      table[{*prefix, c}] = next++;
    } else {
      put(clear);
      change_bits(min_bits);
      table.clear();
      next = clear + 1;
    }
    prefix = byte;
  }
  if (prefix) put(*prefix);
  if (num_waiting > 0) out += static_cast<char>(waiting);
  return out;
}

}  // namespace quern::testing
