#pragma once
#include "quern/formats/forward_segment.hpp"
#include "quern/gpu/device/searches.hpp"

/// Reads the forward file's segments without exceptions, on host and device, so host tests run the kernels' code. Reads
/// stay within a document for any bytes.
namespace quern::gpu {

/// Bits of words, low bits first. One more word must follow the last bit read.
struct BitWords {
  const std::uint32_t* words = nullptr;

  /// The `count` bits at `bit`, at most 32.
  constexpr std::uint32_t at(std::uint64_t bit, unsigned count) const {
    const std::uint64_t word = bit / 32;
    const std::uint64_t both = words[word] | std::uint64_t{words[word + 1]} << 32;
    return static_cast<std::uint32_t>(both >> bit % 32 & ((std::uint64_t{1} << count) - 1));
  }
  constexpr std::uint8_t byte(std::uint64_t at_byte) const { return static_cast<std::uint8_t>(at(at_byte * 8, 8)); }
};

/// Reads bytes [at, end), until one is wrong.
struct SegmentCursor {
  BitWords words;
  std::uint64_t at = 0, end = 0;
  bool sound = true;

  constexpr std::uint64_t fail() {
    sound = false;
    return 0;
  }
  constexpr std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at < end; shift += 7) {
      const std::uint64_t byte = words.byte(at++);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return shift == 63 && byte > 1 ? fail() : value;
    }
    return fail();
  }
  constexpr std::uint32_t varint32() {
    const std::uint64_t value = varint();
    return static_cast<std::uint32_t>(value > 0xffffffffu ? fail() : value);
  }
  /// Skips `size` bytes, and returns where they begin.
  constexpr std::uint64_t take(std::uint64_t size) {
    if (size > end - at) return fail();
    at += size;
    return at - size;
  }
};

/// The places of a segment's fields.
struct DeviceSegment {
  std::uint32_t stream_places[num_document_streams] = {};
  std::uint32_t num_terms = 0, num_literals = 0;
  unsigned low_bits = 0, id_bits = 0;
  std::uint64_t high_bits = 0;
  std::uint64_t lows = 0, highs = 0, ids = 0;    ///< in bits
  std::uint64_t literals = 0, literals_end = 0;  ///< bytes
};

/// The segment at the cursor, like ForwardSegment. Check the cursor's `sound` afterwards.
constexpr DeviceSegment read_segment(SegmentCursor& cursor, std::uint64_t index_terms) {
  DeviceSegment segment;
  std::uint64_t places = 0;
  for (std::uint32_t& stream_place : segment.stream_places) places += stream_place = cursor.varint32();
  segment.num_terms = cursor.varint32();
  segment.num_literals = cursor.varint32();
  const std::uint64_t terms = std::uint64_t{segment.num_terms} + segment.num_literals;
  if (places == 0 || places > max_segment_places || terms > places || segment.num_terms > index_terms) cursor.fail();
  const std::uint32_t literal_bytes = cursor.varint32();
  if (!cursor.sound) return segment;
  segment.low_bits = low_bits_of(index_terms, segment.num_terms);
  segment.high_bits = high_bits_of(index_terms, segment.num_terms, segment.low_bits);
  segment.id_bits = id_bits_of(terms);
  segment.lows = 8 * cursor.take(bytes_of_bits(std::uint64_t{segment.num_terms} * segment.low_bits));
  segment.highs = 8 * cursor.take(bytes_of_bits(segment.high_bits));
  segment.literals = cursor.take(literal_bytes);
  segment.literals_end = segment.literals + literal_bytes;
  segment.ids = 8 * cursor.take(bytes_of_bits(places * segment.id_bits));
  return segment;
}

/// The place of the n-th one of a word, from 0.
constexpr unsigned place_of_one(std::uint32_t word, unsigned n) {
  for (; n > 0; --n) word &= word - 1;
  return count_ones((word & (~word + 1)) - 1);
}

/// The id of a term of the index; 0 if the segment doesn't contain it.
constexpr std::uint32_t id_of_term(const BitWords& words, const DeviceSegment& segment, std::uint32_t number) {
  // The ones of a high part follow the zero that ends the high part before.
  std::uint64_t zeros_left = number >> segment.low_bits, bit = 0, ones = 0;
  while (zeros_left > 0) {
    if (bit >= segment.high_bits) return 0;
    const auto some = static_cast<unsigned>(segment.high_bits - bit < 32 ? segment.high_bits - bit : 32);
    const std::uint32_t found = words.at(segment.highs + bit, some);
    const std::uint32_t zeros = ~found & static_cast<std::uint32_t>((std::uint64_t{1} << some) - 1);
    const unsigned count = count_ones(zeros);
    if (count < zeros_left) {
      zeros_left -= count;
      ones += some - count;
      bit += some;
    } else {
      const unsigned last = place_of_one(zeros, static_cast<unsigned>(zeros_left - 1));
      ones += last + 1 - zeros_left;
      bit += last + 1;
      zeros_left = 0;
    }
  }
  const std::uint32_t low = number & static_cast<std::uint32_t>((std::uint64_t{1} << segment.low_bits) - 1);
  for (; bit < segment.high_bits && ones < segment.num_terms && words.at(segment.highs + bit, 1) != 0; ++bit, ++ones) {
    const std::uint32_t found = words.at(segment.lows + ones * segment.low_bits, segment.low_bits);
    if (found == low) return static_cast<std::uint32_t>(ones) + 1;
    if (found > low) return 0;
  }
  return 0;
}

/// The id of a term without a list in the index, `size` bytes at `text`; 0 if the segment doesn't contain it.
constexpr std::uint32_t id_of_literal(const BitWords& words, const DeviceSegment& segment, const std::uint8_t* text,
                                      std::uint32_t size) {
  SegmentCursor cursor{words, segment.literals, segment.literals_end};
  for (std::uint32_t i = 0; i < segment.num_literals && cursor.sound; ++i) {
    const std::uint64_t found_size = cursor.varint();
    const std::uint64_t found = cursor.take(found_size);
    if (!cursor.sound) return 0;
    std::uint64_t same = 0;
    while (same < size && same < found_size && words.byte(found + same) == text[same]) ++same;
    if (same == size && same == found_size) return segment.num_terms + i + 1;
    if (same == size || (same < found_size && words.byte(found + same) > text[same])) return 0;
  }
  return 0;
}

}  // namespace quern::gpu
