#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "quern/core/types.hpp"

/// JSON (RFC 8259) and UBJSON (draft 12), value by value, without a tree of them: models are large.
namespace quern {

/// A number of JSON, as text, or of UBJSON.
class JsonNumber {
 public:
  explicit JsonNumber(std::string_view text) : text_(text), kind_(Kind::text) {}
  explicit JsonNumber(double real) : real_(real), kind_(Kind::real) {}
  explicit JsonNumber(std::int64_t integer) : integer_(integer), kind_(Kind::integer) {}

  /// Rounded to the nearest; false if the text is no number.
  bool get(float& value) const;
  bool get(double& value) const;
  /// False if it is no integer, or too large.
  bool get(std::int64_t& value) const;

 private:
  enum class Kind : std::uint8_t { text, real, integer };
  std::string_view text_;
  double real_ = 0;
  std::int64_t integer_ = 0;
  Kind kind_;
};

/// What a reader of a JSON file does with its values. Texts are valid during the call.
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

/// Objects and arrays in objects and arrays: more of them are refused. Trees in dumps are as deep as this.
inline constexpr std::size_t max_json_depth = 4'000'000;

/// Calls `events` for each value of a JSON text, which is one value. Numbers may be NaN and Infinity too, as some
/// programs write them. Throws CorruptFile, with `name` and the offset, if it is none; and what `events` throws.
void read_json(std::string_view text, const std::string& name, JsonEvents& events);

/// The same for UBJSON.
void read_ubjson(std::string_view bytes, const std::string& name, JsonEvents& events);

}  // namespace quern
