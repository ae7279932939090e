#pragma once
#include <bit>
#include <charconv>
#include <cstring>

#include "quern/core/error.hpp"

/// Reads and writes little-endian numbers and LEB128 variable-length numbers.
namespace quern {

static_assert(std::endian::native == std::endian::little,
              "files are mapped into memory unconverted: little-endian only");

template <class Number>
inline Number load_le(const void* from) {
  Number value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Number>
inline void store_le(void* to, Number value) {
  std::memcpy(to, &value, sizeof value);
}

template <class Number>
inline void put_le(Bytes& out, Number value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  store_le(out.data() + at, value);
}

/// LEB128: seven bits per byte, low bits first; the top bit is set in every byte but the last.
inline void put_varint(Bytes& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<std::uint8_t>(value) | 0x80);
    value >>= 7;
  }
  out.push_back(static_cast<std::uint8_t>(value));
}

inline void put_bytes(Bytes& out, std::string_view text) { out.insert(out.end(), text.begin(), text.end()); }

/// A varint length, then the bytes.
inline void put_string(Bytes& out, std::string_view text) {
  put_varint(out, text.size());
  put_bytes(out, text);
}

inline ByteView as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string_view as_text(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Bounds-checked reader of untrusted bytes. Throws CorruptFile, with `what` in the message.
class ByteReader {
 public:
  ByteReader(ByteView bytes, std::string_view what) : at_(bytes.data()), end_(at_ + bytes.size()), what_(what) {}

  bool done() const { return at_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  const std::uint8_t* position() const { return at_; }

  template <class Number>
  Number le() {
    need(sizeof(Number));
    const Number value = load_le<Number>(at_);
    at_ += sizeof(Number);
    return value;
  }

  std::uint64_t varint() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;  // the common case
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      need(1);
      const std::uint64_t byte = *at_++;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) {
        if (shift == 63 && byte > 1) fail("a number longer than 64 bits");
        return value;
      }
    }
    fail("a number longer than 64 bits");
  }

  std::uint32_t varint32() {
    const std::uint64_t value = varint();
    if (value > 0xffffffffu) fail("a number longer than 32 bits");
    return static_cast<std::uint32_t>(value);
  }

  /// The next `size` bytes, without a copy.
  ByteView take(std::uint64_t size) {
    need(size);
    const ByteView bytes(at_, static_cast<std::size_t>(size));
    at_ += size;
    return bytes;
  }

  /// The next string, as put_string() writes it, without a copy.
  std::string_view string() { return as_text(take(varint())); }

  [[noreturn]] void fail(std::string_view why) const {
    throw CorruptFile(std::string(what_) + ": " + std::string(why));
  }

 private:
  void need(std::uint64_t size) const {
    if (size > left()) fail("ends too early");
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  std::string_view what_;
};

/// ASCII operations for headers, tags and URLs, independent of the locale.

constexpr bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
/// HTML white space: excludes the vertical tab.
constexpr bool is_html_blank(char c) { return is_ascii_space(c) && c != '\v'; }
constexpr bool is_ascii_letter(char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; }
constexpr bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char ascii_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

inline std::string ascii_lowered(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = ascii_lower(c);
  return lowered;
}

/// `text` without leading and trailing white space.
inline std::string_view trim(std::string_view text) {
  while (!text.empty() && is_ascii_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_ascii_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Removes the first word from `rest` and returns it; empty if there is none.
inline std::string_view next_word(std::string_view& rest) {
  while (!rest.empty() && is_ascii_space(rest.front())) rest.remove_prefix(1);
  std::size_t size = 0;
  while (size < rest.size() && !is_ascii_space(rest[size])) ++size;
  const std::string_view word = rest.substr(0, size);
  rest.remove_prefix(size);
  return word;
}

/// Removes the text up to the first `separator`, and this, from `rest`, and returns the text.
inline std::string_view take_until(std::string_view& rest, char separator) {
  const std::size_t size = rest.find(separator);
  const std::string_view text = rest.substr(0, size);
  rest.remove_prefix(size == rest.npos ? rest.size() : size + 1);
  return text;
}

/// Reads all of `text` as a number; false, with `value` unspecified, if it isn't one or is out of range.
template <class Number>
bool parse_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// A number in its shortest form.
template <class Number>
std::string number_text(Number number) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

/// The value of a hexadecimal digit; -1 for other characters.
constexpr int hex_value(char c) {
  if (is_ascii_digit(c)) return c - '0';
  const char letter = ascii_lower(c);
  return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/// Whether `text` equals `lower_case`, ignoring the case of ASCII letters.
inline bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  if (text.size() != lower_case.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (ascii_lower(text[i]) != lower_case[i]) return false;
  return true;
}

inline bool starts_with_ignoring_case(std::string_view text, std::string_view lower_case) {
  return equals_ignoring_case(text.substr(0, lower_case.size()), lower_case);
}

}  // namespace quern
