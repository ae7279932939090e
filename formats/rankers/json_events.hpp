#pragma once
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <system_error>
#include <type_traits>

#include "quern/core/bytes.hpp"

/// Event readers for JSON (RFC 8259) and UBJSON (draft 12): models are too large to hold as a tree of values.
namespace quern {

/// A number from JSON, as text, or from UBJSON.
class JsonNumber {
 public:
  explicit JsonNumber(std::string_view text) : text_(text), kind_(Kind::text) {}
  explicit JsonNumber(double real) : real_(real), kind_(Kind::real) {}
  explicit JsonNumber(std::int64_t integer) : integer_(integer), kind_(Kind::integer) {}

  /// Rounds to the nearest value; false if the text isn't a number.
  bool get(float& value) const;
  bool get(double& value) const;
  /// False if it isn't an integer or is too large.
  bool get(std::int64_t& value) const;

 private:
  enum class Kind : std::uint8_t { text, real, integer };
  std::string_view text_;
  double real_ = 0;
  std::int64_t integer_ = 0;
  Kind kind_;
};

/// Receives the values of a JSON file. Texts are valid during the call.
class JsonEvents {
 public:
  virtual ~JsonEvents() = default;
  virtual void begin_object() = 0;
  virtual void end_object() = 0;
  virtual void begin_array() = 0;
  virtual void end_array() = 0;
  virtual void key(std::string_view name) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void number(const JsonNumber& value) = 0;
  virtual void boolean(bool value) = 0;
  virtual void null() {}
};

/// Limit of nesting in JSON. Trees in dumps can be very deep.
inline constexpr unsigned max_json_depth = 4'000'000;

/// Calls `events` for each value of a JSON text. Also accepts NaN and Infinity, which some programs write. Throws
/// CorruptFile, with `name` and the offset, for invalid JSON; and what `events` throws.
void read_json(std::string_view text, const std::string& name, JsonEvents& events);

/// Reads UBJSON in the same way, at most 100 levels deep. Refuses arrays and objects whose values have no bytes.
void read_ubjson(std::string_view bytes, const std::string& name, JsonEvents& events);

// Numbers in text models.

/// Reads all of `text` as a number; false if it isn't one of this type. Floating-point numbers round to the nearest,
/// beyond the type's range to infinity, and may be "nan" or "inf".
template <class Number>
bool read_number(std::string_view text, Number& value) {
  const char *begin = text.data(), *end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end || text.empty()) return false;
  if constexpr (std::is_floating_point_v<Number>) {
    if (error == std::errc::result_out_of_range) {
      const std::string copy(text);  // rare: too large or too small for the type
      value = std::is_same_v<Number, float> ? std::strtof(copy.c_str(), nullptr)
                                            : static_cast<Number>(std::strtod(copy.c_str(), nullptr));
      return true;
    }
  }
  return error == std::errc();
}

/// Whether `head` begins with these tokens, with any white space around them.
inline bool begins_with_tokens(std::string_view head, std::initializer_list<std::string_view> tokens) {
  for (const std::string_view token : tokens) {
    head = trim(head);
    if (!head.starts_with(token)) return false;
    head.remove_prefix(token.size());
  }
  return true;
}

/// The greatest float32 up to `value`: x <= value exactly if x <= it, for each float32 x.
inline float greatest_float_up_to(double value) {
  constexpr float greatest = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
  if (value == infinity) return infinity;
  if (value >= greatest) return greatest;
  if (value < -greatest) return -infinity;
  const float rounded = static_cast<float>(value);
  return rounded > value ? std::nextafterf(rounded, -infinity) : rounded;
}

/// The greatest float32 below `value`: x < value exactly if x <= it. `value` isn't -infinity.
inline float greatest_float_below(float value) {
  return std::nextafterf(value, -std::numeric_limits<float>::infinity());
}

}  // namespace quern
