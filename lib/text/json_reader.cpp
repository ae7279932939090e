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

enum class NumberForm { none, integer, fraction, named };

/// Whether `text` is a number by JSON's grammar, one of digits alone, or a name that Python writes as a number.
NumberForm form_of(std::string_view text) {
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") return NumberForm::named;
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

/// The form of a number; throws JsonDamage if the text isn't one.
NumberForm checked_form(std::string_view text) {
  const NumberForm form = form_of(text);
  if (form == NumberForm::none) throw JsonDamage("a value is not a valid number");
  return form;
}

/// The double nearest to a number, or infinity beyond its range.
double nearest_double(std::string_view text) {
  double value = 0;
  return parse_number(text, value) ? value : std::strtod(std::string(text).c_str(), nullptr);
}

constexpr char32_t replacement = 0xFFFD;

constexpr bool is_high_surrogate(char32_t point) { return point >= 0xD800 && point < 0xDC00; }
constexpr bool is_low_surrogate(char32_t point) { return point >= 0xDC00 && point < 0xE000; }

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
    if (surrogate_ != 0 && (!in_string_ || !plain.empty())) replace_surrogate();
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

void JsonReader::replace_surrogate() {
  if (surrogate_ == 0) return;
  append_utf8(replacement, unescaped_);
  surrogate_ = 0;
  ++replaced_;
}

void JsonReader::take_escape() {
  constexpr std::string_view marks = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
  const int mark = take_byte();
  if (mark != 'u') {
    const std::size_t which = mark == end ? std::string_view::npos : marks.find(static_cast<char>(mark));
    if (which == std::string_view::npos) throw JsonDamage("a string contains an unknown escape");
    replace_surrogate();
    unescaped_ += values[which];
    return;
  }
  const char32_t point = take_hex();
  if (is_low_surrogate(point) && surrogate_ != 0) {
    append_utf8(0x10000 + ((surrogate_ - 0xD800) << 10) + (point - 0xDC00), unescaped_);
    surrogate_ = 0;
    return;
  }
  replace_surrogate();
  if (!is_high_surrogate(point) && !is_low_surrogate(point)) return append_utf8(point, unescaped_);
  surrogate_ = point;
  if (is_low_surrogate(point)) replace_surrogate();
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
  return first == '-' || (first >= '0' && first <= '9') || first == 'N' || first == 'I';
}

double JsonReader::take_number() {
  const std::string_view text = take_scalar();
  checked_form(text);
  return nearest_double(text);
}

std::string JsonReader::take_number_text() {
  const std::string_view text = take_scalar();
  if (checked_form(text) == NumberForm::integer) return text == "-0" ? "0" : std::string(text);
  const double value = nearest_double(text);
  return std::isfinite(value) ? number_text(value) : "";
}

void JsonReader::skip_scalar() {
  const std::string_view text = take_scalar();
  if (text != "true" && text != "false" && text != "null") checked_form(text);
}

void JsonReader::skip_string() {
  const std::uint64_t replaced = replaced_;
  begin_string();
  while (!string_piece().empty()) {
  }
  replaced_ = replaced;
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

namespace {

/// The code unit of an escape "\uXXXX" at the front; 0 for other text.
char32_t escaped_unit(std::string_view text) {
  if (!text.starts_with("\\u") || text.size() < 6) return 0;
  char32_t unit = 0;
  for (const char c : text.substr(2, 4)) {
    if (hex_value(c) < 0) return 0;
    unit = unit << 4 | static_cast<unsigned>(hex_value(c));
  }
  return unit;
}

/// Moves a string from the front of `json` to `out`.
void move_string(std::string_view& json, std::string& out) {
  const auto move = [&](std::size_t size) {
    out += json.substr(0, size);
    json.remove_prefix(std::min(size, json.size()));
  };
  move(1);
  while (!json.empty() && json.front() != '"') {
    const char32_t unit = escaped_unit(json);
    if (is_high_surrogate(unit) && is_low_surrogate(escaped_unit(json.substr(6)))) {
      move(12);
    } else if (is_high_surrogate(unit) || is_low_surrogate(unit)) {
      out += "\\ufffd";
      json.remove_prefix(6);
    } else {
      move(json.front() == '\\' ? 2 : std::max<std::size_t>(1, plain_bytes(json)));
    }
  }
  move(1);
}

std::string narrowed_scalar(std::string_view text, bool as_id) {
  const NumberForm form = form_of(text);
  std::int64_t integer = 0;
  std::uint64_t natural = 0;
  if (form == NumberForm::none ||
      (form == NumberForm::integer && (parse_number(text, integer) || parse_number(text, natural))))
    return std::string(text);
  if (form == NumberForm::integer && as_id) return '"' + std::string(text) + '"';
  if (form == NumberForm::named || !std::isfinite(nearest_double(text))) return "null";
  return std::string(text) + (form == NumberForm::integer ? ".0" : "");
}

}  // namespace

std::string narrowed_json(std::string_view json, bool with_long_ids) {
  std::string out;
  std::int64_t depth = 0;
  while (!json.empty()) {
    const char c = json.front();
    if (c == '"') {
      move_string(json, out);
      continue;
    }
    const auto end = std::find_if(json.begin(), json.end(), [](char next) { return ends_scalar(next) || next == '"'; });
    const std::string_view scalar = json.substr(0, static_cast<std::size_t>(end - json.begin()));
    if (scalar.empty()) {
      depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      out += c;
    }
    out += narrowed_scalar(scalar, with_long_ids && depth == 1);
    json.remove_prefix(std::max<std::size_t>(1, scalar.size()));
  }
  return out;
}

}  // namespace quern
