#pragma once
#include "quern/core/types.hpp"

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

}  // namespace quern
