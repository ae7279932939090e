#include "quern/text/utf8.hpp"

#include <simdjson.h>
#include <utf8proc.h>

#include "quern/text/text_block.hpp"

namespace quern {
namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// Controls that repair_utf8() turns into spaces.
constexpr bool is_unwanted_control(unsigned char c) {
  return c < 0x20 && c != '\t' && c != '\n' && c != '\f' && c != '\r';
}
static_assert(is_unwanted_control(static_cast<unsigned char>(phrase_end)));

/// ASCII, and no unwanted control.
constexpr bool is_plain(char c) {
  return static_cast<signed char>(c) >= 0 && !is_unwanted_control(static_cast<unsigned char>(c));
}

/// Whether a whole block is ASCII without unwanted controls; branch-free, so that compilers vectorize it.
bool is_plain_block(const char* block) {
  unsigned char bad = 0;
  for (std::size_t i = 0; i < block_bytes; ++i) {
    const auto c = static_cast<unsigned char>(block[i]);
    const auto low_or_high = static_cast<unsigned char>(static_cast<signed char>(c) < 0x20);
    const auto wanted = static_cast<unsigned char>((c == '\t') | (c == '\n') | (c == '\f') | (c == '\r'));
    bad |= static_cast<unsigned char>(low_or_high & (wanted ^ 1));
  }
  return bad == 0;
}

/// The sequence at a byte: well-formed, or the maximal subpart of an ill-formed one.
struct Sequence {
  char32_t point;
  unsigned bytes;
  bool well_formed;
};

/// What may follow a lead byte: the number of bytes, and the range of the first, which rules out overlong forms,
/// surrogates and code points above U+10FFFF (Unicode, table 3-7).
struct Lead {
  unsigned following;
  unsigned char lowest, highest;
};

constexpr Lead lead_of(unsigned char c) {
  if (c >= 0xC2 && c <= 0xDF) return {1, 0x80, 0xBF};
  if (c == 0xE0) return {2, 0xA0, 0xBF};
  if (c == 0xED) return {2, 0x80, 0x9F};
  if (c >= 0xE1 && c <= 0xEF) return {2, 0x80, 0xBF};
  if (c == 0xF0) return {3, 0x90, 0xBF};
  if (c >= 0xF1 && c <= 0xF3) return {3, 0x80, 0xBF};
  if (c == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

Sequence sequence_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1, true};
  Lead lead = lead_of(first);
  if (lead.following == 0) return {0xFFFD, 1, false};
  char32_t point = first & (0x3Fu >> lead.following);
  for (unsigned i = 1; i <= lead.following; ++i) {
    if (at + i >= text.size()) return {0xFFFD, i, false};
    const auto next = static_cast<unsigned char>(text[at + i]);
    if (next < lead.lowest || next > lead.highest) return {0xFFFD, i, false};
    lead.lowest = 0x80;
    lead.highest = 0xBF;
    point = point << 6 | (next & 0x3Fu);
  }
  return {point, lead.following + 1, true};
}

/// The position at or after `at` of the first ill-formed sequence or unwanted control character; text.size() if there
/// is none.
std::size_t find_unsound(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    if (at + block_bytes <= text.size() && is_plain_block(text.data() + at)) {
      at += block_bytes;
      continue;
    }
    for (const std::size_t stop = at + block_bytes; at < stop && at < text.size();) {
      if (is_plain(text[at])) {
        ++at;
        continue;
      }
      const Sequence sequence = sequence_at(text, at);
      if (!sequence.well_formed || sequence.bytes == 1) return at;
      at += sequence.bytes;
    }
  }
  return at;
}

}  // namespace

bool is_valid_utf8(std::string_view text) { return simdjson::validate_utf8(text); }

std::size_t repair_utf8(std::string_view in, std::string& out) {
  out.clear();
  Utf8Repair repair;
  repair.append(in, out);
  repair.finish(out);
  return repair.replaced();
}

void Utf8Repair::append(std::string_view piece, std::string& out) {
  while (!held_.empty() && !piece.empty()) {
    held_ += piece.front();
    if (sequence_at(held_, 0).bytes == held_.size()) {
      piece.remove_prefix(1);
      if (partial_character_bytes(held_) > 0) continue;
    } else {
      held_.pop_back();  // ill-formed: the sequence ends before this byte
    }
    append_whole(held_, out);
    held_.clear();
  }
  if (piece.empty()) return;
  held_ = piece.substr(piece.size() - partial_character_bytes(piece));
  append_whole(piece.substr(0, piece.size() - held_.size()), out);
}

void Utf8Repair::finish(std::string& out) {
  append_whole(held_, out);
  held_.clear();
}

void Utf8Repair::append_whole(std::string_view in, std::string& out) {
  if (in.empty()) return;
  if (at_start_ && in.substr(0, byte_order_mark.size()) == byte_order_mark) in.remove_prefix(byte_order_mark.size());
  at_start_ = false;
  out.reserve(out.size() + in.size());
  for (std::size_t at = 0; at < in.size();) {
    const std::size_t unsound = find_unsound(in, at);
    out.append(in, at, unsound - at);
    at = unsound;
    if (at == in.size()) return;
    const Sequence sequence = sequence_at(in, at);
    out += sequence.well_formed ? std::string_view(" ") : replacement_character;
    if (!sequence.well_formed) ++replaced_;
    at += sequence.bytes;
  }
}

std::string_view Utf8Repair::repaired(std::string_view piece, std::string& buffer) {
  const bool is_whole = held_.empty() && partial_character_bytes(piece) == 0;
  const bool has_mark = at_start_ && piece.starts_with(byte_order_mark[0]);
  if (is_whole && !has_mark && find_unsound(piece, 0) == piece.size()) {
    at_start_ = at_start_ && piece.empty();
    return piece;
  }
  buffer.clear();
  append(piece, buffer);
  return buffer;
}

std::size_t partial_character_bytes(std::string_view text) {
  constexpr std::size_t max_bytes = 3;
  for (std::size_t bytes = 1; bytes <= std::min(max_bytes, text.size()); ++bytes) {
    const std::size_t at = text.size() - bytes;
    const unsigned following = lead_of(static_cast<unsigned char>(text[at])).following;
    if (following > 0) return following >= bytes && sequence_at(text, at).bytes == bytes ? bytes : 0;
  }
  return 0;
}

DecodedPoint decode_utf8(std::string_view text) {
  const Sequence sequence = sequence_at(text, 0);
  return {sequence.point, sequence.bytes};
}

void append_utf8(char32_t point, std::string& out) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), bytes);
  out.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

}  // namespace quern
