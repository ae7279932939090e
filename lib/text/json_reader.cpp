#include "quern/text/json_reader.hpp"

#include <cmath>
#include <cstdlib>

#include "quern/text/text_block.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// Approximate size of a string's pieces.
constexpr std::size_t string_piece_bytes = 16 << 10;

constexpr bool is_json_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

constexpr bool ends_scalar(char c) {
  return is_json_space(c) || c == ',' || c == ':' || c == '{' || c == '}' || c == '[' || c == ']';
}

bool is_json_control(char c) { return static_cast<unsigned char>(c) < 0x20; }

/// Bytes of a string before the first quote, backslash or control character.
std::size_t plain_bytes(std::string_view text) {
  text = text.substr(0, find_any_of<'"', '\\'>(text, 0));
  bool has_control = false;  // without a branch, so that compilers vectorize the loop
  for (const char c : text) has_control |= is_json_control(c);
  if (!has_control) return text.size();
  return static_cast<std::size_t>(std::find_if(text.begin(), text.end(), is_json_control) - text.begin());
}

char closing(char open) { return open == '{' ? '}' : ']'; }

/// Takes the digits at the text's front; returns their count.
std::size_t take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_ascii_digit(text[count])) ++count;
  text.remove_prefix(count);
  return count;
}

enum class NumberForm { none, integer, fraction };

/// Whether `text` is a number by JSON's grammar, and one of digits alone.
NumberForm form_of(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const bool begins_with_zero = text.starts_with('0');
  const std::size_t whole = take_digits(text);
  if (whole == 0 || (begins_with_zero && whole > 1)) return NumberForm::none;
  if (text.empty()) return NumberForm::integer;
  if (text.front() == '.') {
    text.remove_prefix(1);
    if (take_digits(text) == 0) return NumberForm::none;
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
    if (take_digits(text) == 0) return NumberForm::none;
  }
  return text.empty() ? NumberForm::fraction : NumberForm::none;
}

[[noreturn]] void throw_bad_number() { throw JsonDamage("a value is not a valid number"); }

/// A number of this form as a double. Throws JsonDamage if it is out of range.
double fraction_of(std::string_view text) {
  double value = 0;
  if (parse_number(text, value)) return value;
  value = std::strtod(std::string(text).c_str(), nullptr);  // rare: 0 or infinite
  if (!std::isfinite(value)) throw_bad_number();
  return value;
}

/// Calls use(value) with the number as the smallest of std::int64_t, std::uint64_t and double that holds it. Throws
/// JsonDamage if the text isn't a number.
template <class Use>
auto with_number(std::string_view text, Use&& use) {
  const NumberForm form = form_of(text);
  if (form == NumberForm::fraction) return use(fraction_of(text));
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  if (form == NumberForm::integer && parse_number(text, integer)) return use(integer);
  if (form == NumberForm::none || !parse_number(text, natural)) throw_bad_number();
  return use(natural);
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
  if (++depth_ > max_levels_) throw JsonDamage("its values are nested too deeply");
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
    piece_.remove_prefix(plain.size());
    in_string_ = !piece_.starts_with('"');
    if (!in_string_) piece_.remove_prefix(1);
    if (!in_string_ && unescaped_.empty()) return plain;
    unescaped_ += plain;
    if (!in_string_) break;
    if (piece_.empty()) continue;
    const int c = take_byte();
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
  append_utf8(point, unescaped_);
}

unsigned JsonReader::take_hex() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i) {
    const int c = take_byte(), digit = c == end ? -1 : hex_value(static_cast<char>(c));
    if (digit < 0) throw JsonDamage("a string contains an unknown escape");
    value = value << 4 | static_cast<unsigned>(digit);
  }
  return value;
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

std::string_view JsonReader::take_scalar() {
  peek();
  scalar_.clear();
  for (;;) {
    const std::size_t size =
        static_cast<std::size_t>(std::find_if(piece_.begin(), piece_.end(), ends_scalar) - piece_.begin());
    if (scalar_.size() + size > max_scalar_bytes) throw JsonDamage("a number is longer than 64 KiB");
    const std::string_view text = piece_.substr(0, size);
    piece_.remove_prefix(size);
    if (!piece_.empty() && scalar_.empty()) return text;
    scalar_ += text;
    if (!piece_.empty() || !has_bytes()) return scalar_;
  }
}

bool JsonReader::is_at_number() {
  const int first = peek();
  return first == '-' || (first >= '0' && first <= '9');
}

double JsonReader::take_number() {
  return with_number(take_scalar(), [](auto number) { return static_cast<double>(number); });
}

std::string JsonReader::take_number_text() {
  return with_number(take_scalar(), [](auto number) { return number_text(number); });
}

void JsonReader::skip_scalar() {
  const std::string_view text = take_scalar();
  if (text == "true" || text == "false" || text == "null") return;
  with_number(text, [](auto) {});
}

void JsonReader::skip_string() {
  begin_string();
  while (!string_piece().empty()) {
  }
}

void JsonReader::skip_value() {
  std::vector<char> open;
  const auto skip_key = [&] {
    skip_string();
    take(':');
  };
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
      skip_string();
    } else {
      skip_scalar();
    }
    while (!open.empty() && !next_member(open.back())) open.pop_back();
    if (!open.empty() && open.back() == '{') skip_key();
  } while (!open.empty());
}

}  // namespace quern
