#include "quern/formats/corpus/json_reader.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/formats/corpus/json_parser.hpp"

namespace quern {
namespace {

/// simdjson refuses this nesting depth too.
constexpr unsigned too_many_levels = 1024;

/// Approximate size of a string's pieces.
constexpr std::size_t string_piece_bytes = 16 << 10;

constexpr bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr bool ends_scalar(char c) {
  return is_json_space(c) || c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']';
}

/// Bytes that end a plain stretch of a string: quotes, backslashes and control characters.
constexpr std::array<bool, 256> special_in_string = [] {
  std::array<bool, 256> special{};
  for (std::size_t c = 0; c < 0x20; ++c) special[c] = true;
  special['"'] = special['\\'] = true;
  return special;
}();

std::size_t plain_bytes(std::string_view text) {
  const auto* const special =
      std::find_if(text.begin(), text.end(), [](char c) { return special_in_string[static_cast<unsigned char>(c)]; });
  return static_cast<std::size_t>(special - text.begin());
}

char closing(char open) { return open == '{' ? '}' : ']'; }

/// Whether a number is valid without parsing it: short integers, and fractions without an exponent, are always in
/// range.
bool is_plain_number(std::string_view text) {
  constexpr std::size_t max_whole_digits = 18, max_digits = 100;
  const auto digits = [&] {
    std::size_t count = 0;
    for (; !text.empty() && is_ascii_digit(text.front()); ++count) text.remove_prefix(1);
    return count;
  };
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  const bool begins_with_zero = text.substr(0, 1) == "0";
  const std::size_t whole = digits();
  if (whole == 0 || (begins_with_zero && whole > 1)) return false;
  if (text.empty()) return whole <= max_whole_digits;
  if (text.front() != '.') return false;
  text.remove_prefix(1);
  const std::size_t fraction = digits();
  return fraction > 0 && text.empty() && whole + fraction <= max_digits;
}

}  // namespace

int JsonReader::peek() {
  while (has_bytes()) {
    if (!is_json_space(piece_.front())) return static_cast<unsigned char>(piece_.front());
    piece_.remove_prefix(1);
  }
  return end;
}

int JsonReader::take_byte() {
  if (!has_bytes()) return end;
  const char c = piece_.front();
  piece_.remove_prefix(1);
  return static_cast<unsigned char>(c);
}

void JsonReader::take(char expected) {
  if (peek() != expected) throw JsonDamage(std::string("a '") + expected + "' is missing");
  piece_.remove_prefix(1);
}

bool JsonReader::begin(char open) {
  take(open);
  if (peek() == closing(open)) {
    piece_.remove_prefix(1);
    return false;
  }
  if (++depth_ >= too_many_levels) throw JsonDamage("its values are nested too deeply");
  return true;
}

bool JsonReader::next_member(char open) {
  if (peek() == ',') {
    piece_.remove_prefix(1);
    return true;
  }
  take(closing(open));
  --depth_;
  return false;
}

std::string_view JsonReader::string_piece() {
  unescaped_.clear();
  if (!in_string_) return {};
  while (unescaped_.size() < string_piece_bytes) {
    if (!has_bytes()) throw JsonDamage("a string is not terminated");
    const std::string_view plain = piece_.substr(0, plain_bytes(piece_));
    unescaped_ += plain;
    piece_.remove_prefix(plain.size());
    if (piece_.empty()) continue;
    const int c = take_byte();
    if (c == '"') {
      in_string_ = false;
      break;
    }
    if (c != '\\') throw JsonDamage("a string contains a control character");
    take_escape();
  }
  return unescaped_;
}

void JsonReader::take_escape() {
  constexpr std::string_view marks = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
  const int mark = take_byte();
  if (mark != 'u') {
    const std::size_t which = mark == end ? std::string_view::npos : marks.find(static_cast<char>(mark));
    if (which == std::string_view::npos) throw JsonDamage("a string contains an unknown escape");
    unescaped_ += values[which];
    return;
  }
  char32_t point = take_hex();
  if (point >= 0xD800 && point < 0xE000) {
    const bool is_high = point < 0xDC00 && take_byte() == '\\' && take_byte() == 'u';
    const char32_t low = is_high ? take_hex() : 0;
    if (low < 0xDC00 || low >= 0xE000) throw JsonDamage("a string contains half a surrogate pair");
    point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
  }
  put_point(point);
}

unsigned JsonReader::take_hex() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i) {
    const int c = take_byte();
    const int letter = c | 0x20;
    if (c >= '0' && c <= '9') {
      value = value << 4 | static_cast<unsigned>(c - '0');
    } else if (letter >= 'a' && letter <= 'f') {
      value = value << 4 | static_cast<unsigned>(letter - 'a' + 10);
    } else {
      throw JsonDamage("a string contains an unknown escape");
    }
  }
  return value;
}

void JsonReader::put_point(char32_t point) {
  const auto put = [&](char32_t byte) { unescaped_ += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
    return;
  }
  if (point < 0x800) {
    put(0xC0 | point >> 6);
  } else {
    if (point < 0x10000) {
      put(0xE0 | point >> 12);
    } else {
      put(0xF0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3F));
    }
    put(0x80 | (point >> 6 & 0x3F));
  }
  put(0x80 | (point & 0x3F));
}

std::string JsonReader::take_string(std::size_t max_bytes, std::uint64_t& size) {
  std::string text;
  begin_string();
  size = 0;
  for (std::string_view piece = string_piece(); !piece.empty(); piece = string_piece()) {
    text += piece.substr(0, max_bytes - text.size());
    size += piece.size();
  }
  return text;
}

std::string JsonReader::take_scalar() {
  peek();
  std::string text;
  while (has_bytes() && !ends_scalar(piece_.front())) {
    text += piece_.front();
    piece_.remove_prefix(1);
    if (text.size() > max_scalar_bytes) throw JsonDamage("a number is longer than 64 KiB");
  }
  return text;
}

std::string JsonReader::take_number() {
  if (const std::optional<std::string> number = numbers_->number_text(take_scalar())) return *number;
  throw JsonDamage("a value is not a valid number");
}

void JsonReader::skip_scalar() {
  const std::string text = take_scalar();
  if (text == "true" || text == "false" || text == "null" || is_plain_number(text)) return;
  if (!numbers_->number_text(text)) throw JsonDamage("a value is invalid");
}

void JsonReader::skip_key() {
  begin_string();
  while (!string_piece().empty()) {
  }
  take(':');
}

void JsonReader::skip_value() {
  std::vector<char> open;
  do {
    const int first = peek();
    if (first == '{' || first == '[') {
      const char opening = static_cast<char>(first);
      if (begin(opening)) {
        open.push_back(opening);
        if (opening == '{') skip_key();
        continue;
      }
    } else if (first == '"') {
      begin_string();
      while (!string_piece().empty()) {
      }
    } else {
      skip_scalar();
    }
    while (!open.empty() && !next_member(open.back())) open.pop_back();
    if (!open.empty() && open.back() == '{') skip_key();
  } while (!open.empty());
}

}  // namespace quern
