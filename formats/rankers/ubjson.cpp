#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "quern/core/error.hpp"
#include "quern/formats/rankers/json_events.hpp"

namespace quern {
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
