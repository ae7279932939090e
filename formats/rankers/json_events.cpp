#include "quern/formats/rankers/json_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <vector>

#include "quern/core/bytes.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/rankers/json_events.hpp"
#include "quern/formats/rankers/number_text.hpp"

namespace quern {
namespace {

/// Reads the four digits of \uXXXX; false if they aren't hexadecimal.
bool read_unit(std::string_view digits, std::uint32_t& unit) {
  unit = 0;
  if (digits.size() != 4) return false;
  for (const char digit : digits) {
    const char lower = ascii_lower(digit);
    if (is_ascii_digit(digit))
      unit = unit * 16 + static_cast<std::uint32_t>(digit - '0');
    else if (lower >= 'a' && lower <= 'f')
      unit = unit * 16 + static_cast<std::uint32_t>(lower - 'a') + 10;
    else
      return false;
  }
  return true;
}

void append_utf8(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
    return;
  }
  if (code < 0x800) {
    text += static_cast<char>(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    text += static_cast<char>(0xe0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
  } else {
    text += static_cast<char>(0xf0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3f));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3f));
  }
  text += static_cast<char>(0x80 | (code & 0x3f));
}

class JsonTextReader {
 public:
  JsonTextReader(std::string_view text, const std::string& name, JsonEvents& events)
      : text_(text), name_(name), events_(events) {}

  void read() {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
    read_value();
    while (!open_.empty()) read_in_container();
    if (peek() != '\0' || at_ < text_.size()) fail("unexpected data after the value");
  }

 private:
  struct Open {
    bool is_object, has_values;
  };

  [[noreturn]] void fail(std::string_view why) const {
    throw CorruptFile(fmt::format("{}: byte {}: is not JSON: {}", name_, at_, why));
  }
  /// The next byte that isn't a space; 0 at the end.
  char peek() {
    while (at_ < text_.size() && is_ascii_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void expect(char c) {
    if (peek() != c || at_ >= text_.size()) fail(fmt::format("'{}' is missing", c));
    ++at_;
  }

  void read_in_container() {
    Open& open = open_.back();
    if (peek() == (open.is_object ? '}' : ']')) {
      ++at_;
      const bool is_object = open.is_object;
      open_.pop_back();
      is_object ? events_.end_object() : events_.end_array();
      return;
    }
    if (open.has_values) {
      expect(',');
      peek();
    }
    open.has_values = true;
    if (open.is_object) {
      expect('"');
      events_.key(read_string());
      expect(':');
    }
    read_value();
  }

  void read_value() {
    switch (peek()) {
      case '{':
        return begin(true);
      case '[':
        return begin(false);
      case '"':
        ++at_;
        return events_.text(read_string());
      default:
        return read_word();
    }
  }

  void begin(bool is_object) {
    if (open_.size() >= max_json_depth) fail("values are nested too deeply");
    ++at_;
    open_.push_back({is_object, false});
    is_object ? events_.begin_object() : events_.begin_array();
  }

  /// Reads a number or a literal name.
  void read_word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (is_ascii_letter(text_[at_]) || is_ascii_digit(text_[at_]) || text_[at_] == '-' ||
                                  text_[at_] == '+' || text_[at_] == '.'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word == "true" || word == "false") return events_.boolean(word == "true");
    if (word == "null") return events_.null();
    const bool is_named = word == "NaN" || word == "Infinity" || word == "-Infinity";
    const std::size_t sign = word.substr(0, 1) == "-" ? 1 : 0;
    if (!is_named && (word.size() <= sign || !is_ascii_digit(word[sign]))) {
      at_ = begin;
      fail("a value is missing");
    }
    events_.number(JsonNumber(word));
  }

  /// Reads a string after its opening quote.
  std::string_view read_string() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') ++at_;
    if (at_ >= text_.size()) fail("a string is not terminated");
    if (text_[at_] == '"') return text_.substr(begin, at_++ - begin);
    string_ = text_.substr(begin, at_ - begin);
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\')
        read_escape();
      else
        string_ += text_[at_++];
    }
    if (at_ >= text_.size()) fail("a string is not terminated");
    ++at_;
    return string_;
  }

  void read_escape() {
    ++at_;
    const char c = at_ < text_.size() ? text_[at_++] : '\0';
    constexpr std::string_view letters = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
    if (const std::size_t found = letters.find(c); found != letters.npos && c != '\0') {
      string_ += meant[found];
    } else if (c == 'u') {
      std::uint32_t code = read_code_unit(), second = 0;
      if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {
        at_ += 2;
        second = read_code_unit();
        if (second < 0xdc00 || second >= 0xe000) fail("half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
      } else if (code >= 0xd800 && code < 0xe000) {
        fail("half a surrogate pair");
      }
      append_utf8(string_, code);
    } else {
      fail("an unknown escape");
    }
  }

  std::uint32_t read_code_unit() {
    std::uint32_t unit = 0;
    if (!read_unit(text_.substr(at_, 4), unit)) fail("\\u without four hexadecimal digits");
    at_ += 4;
    return unit;
  }

  std::string_view text_;
  const std::string& name_;
  JsonEvents& events_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
  std::string string_;
};

}  // namespace

bool JsonNumber::get(float& value) const {
  if (kind_ == Kind::text) return read_number(text_, value);
  value = kind_ == Kind::real ? static_cast<float>(real_) : static_cast<float>(integer_);
  return true;
}

bool JsonNumber::get(double& value) const {
  if (kind_ == Kind::text) return read_number(text_, value);
  value = kind_ == Kind::real ? real_ : static_cast<double>(integer_);
  return true;
}

bool JsonNumber::get(std::int64_t& value) const {
  if (kind_ == Kind::integer) {
    value = integer_;
    return true;
  }
  if (kind_ == Kind::text && read_number(text_, value)) return true;
  double real = 0;
  if (!get(real) || std::abs(real) > 0x1p53 || real != std::floor(real)) return false;
  value = static_cast<std::int64_t>(real);
  return true;
}

void read_json(std::string_view text, const std::string& name, JsonEvents& events) {
  JsonTextReader(text, name, events).read();
}

namespace {

/// Bytes of a value of a fixed size; 0 for other types.
std::size_t fixed_bytes(char type) {
  switch (type) {
    case 'i':
    case 'U':
    case 'C':
      return 1;
    case 'I':
      return 2;
    case 'l':
    case 'd':
      return 4;
    case 'L':
    case 'D':
      return 8;
    default:
      return 0;
  }
}

class UbjsonReader {
 public:
  UbjsonReader(std::string_view bytes, const std::string& name, JsonEvents& events)
      : bytes_(bytes), name_(name), events_(events) {}

  void read() {
    read_value(next_type());
    while (!open_.empty()) read_in_container();
    while (at_ < bytes_.size() && bytes_[at_] == 'N') ++at_;
    if (at_ < bytes_.size()) fail("unexpected data after the value");
  }

 private:
  /// An open object or array. Ends after a number of values or at an end mark; values have a common type or one each.
  struct Open {
    bool is_object = false;
    bool is_counted = false;
    std::uint64_t left = 0;
    char type = '\0';
  };

  [[noreturn]] void fail(std::string_view why) const {
    throw CorruptFile(fmt::format("{}: byte {}: is not UBJSON: {}", name_, at_, why));
  }
  char next_byte() {
    if (at_ >= bytes_.size()) fail("ends too early");
    return bytes_[at_++];
  }
  char peek_type() {
    while (at_ < bytes_.size() && bytes_[at_] == 'N') ++at_;
    if (at_ >= bytes_.size()) fail("ends too early");
    return bytes_[at_];
  }
  char next_type() {
    const char type = peek_type();
    ++at_;
    return type;
  }

  /// The next bytes as a number, most significant first.
  std::uint64_t read_bits(std::size_t count) {
    if (bytes_.size() - at_ < count) fail("ends too early");
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < count; ++i) bits = bits << 8 | static_cast<std::uint8_t>(bytes_[at_++]);
    return bits;
  }
  /// Reads an integer of that type; nullopt for types that aren't integers.
  std::optional<std::int64_t> read_integer(char type) {
    switch (type) {
      case 'i':
        return static_cast<std::int8_t>(read_bits(1));
      case 'U':
        return static_cast<std::int64_t>(read_bits(1));
      case 'I':
        return static_cast<std::int16_t>(read_bits(2));
      case 'l':
        return static_cast<std::int32_t>(read_bits(4));
      case 'L':
        return static_cast<std::int64_t>(read_bits(8));
      default:
        return {};
    }
  }
  /// Reads a length or a number of values of at least `bytes_each` bytes each.
  std::uint64_t read_count(std::size_t bytes_each) {
    const auto count = read_integer(next_byte());
    if (!count || *count < 0) fail("a length is missing");
    const auto size = static_cast<std::uint64_t>(*count);
    if (size > (bytes_.size() - at_) / bytes_each) fail("a length exceeds the file");
    return size;
  }
  std::string_view read_string() {
    const std::uint64_t size = read_count(1);
    const std::string_view text = bytes_.substr(at_, size);
    at_ += size;
    return text;
  }

  void read_value(char type) {
    if (const auto integer = read_integer(type)) return events_.number(JsonNumber(*integer));
    switch (type) {
      case 'Z':
        return events_.null();
      case 'T':
      case 'F':
        return events_.boolean(type == 'T');
      case 'd':
        return events_.number(
            JsonNumber(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(read_bits(4))))));
      case 'D':
        return events_.number(JsonNumber(std::bit_cast<double>(read_bits(8))));
      case 'H':
        return events_.number(JsonNumber(read_string()));
      case 'C': {
        const char text = next_byte();
        return events_.text({&text, 1});
      }
      case 'S':
        return events_.text(read_string());
      case '{':
      case '[':
        return begin(type == '{');
      default:
        --at_;
        fail("a value of an unknown type");
    }
  }

  void begin(bool is_object) {
    if (open_.size() >= max_json_depth) fail("values are nested too deeply");
    Open open;
    open.is_object = is_object;
    if (at_ < bytes_.size() && bytes_[at_] == '$') {
      ++at_;
      open.type = next_byte();
      // Values without bytes would take unlimited time, and containers without types unlimited depth.
      if (fixed_bytes(open.type) == 0 && open.type != 'S' && open.type != 'H')
        fail("an array of a type without a fixed size");
      if (at_ >= bytes_.size() || bytes_[at_] != '#') fail("an array of one type without a length");
    }
    if (at_ < bytes_.size() && bytes_[at_] == '#') {
      ++at_;
      open.is_counted = true;
      open.left = read_count(std::max<std::size_t>(fixed_bytes(open.type), 1));
    }
    open_.push_back(open);
    is_object ? events_.begin_object() : events_.begin_array();
  }

  bool is_at_end(const Open& open) {
    if (open.is_counted) return open.left == 0;
    if (peek_type() != (open.is_object ? '}' : ']')) return false;
    ++at_;
    return true;
  }

  void read_in_container() {
    Open& open = open_.back();
    if (is_at_end(open)) {
      const bool is_object = open.is_object;
      open_.pop_back();
      is_object ? events_.end_object() : events_.end_array();
      return;
    }
    if (open.is_counted) --open.left;
    if (open.is_object) events_.key(read_string());
    const char type = open.type != '\0' ? open.type : next_type();
    read_value(type);
  }

  std::string_view bytes_;
  const std::string& name_;
  JsonEvents& events_;
  std::size_t at_ = 0;
  std::vector<Open> open_;
};

}  // namespace

void read_ubjson(std::string_view bytes, const std::string& name, JsonEvents& events) {
  UbjsonReader(bytes, name, events).read();
}

}  // namespace quern
