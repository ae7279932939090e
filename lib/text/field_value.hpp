#pragma once
#include <cmath>
#include <iterator>

#include "quern/core/bytes.hpp"

/// Values of fields kept with documents (--keep-fields), and their encoding in collections and indexes.
namespace quern {

/// Limits: number of kept fields, bytes of a field's name, bytes of a text value.
inline constexpr std::size_t max_kept_fields = 16, max_kept_name_bytes = 64, max_kept_text_bytes = 255;

/// A byte allowed in a kept field's name, so that filters can find its end. All non-ASCII bytes count as letters.
constexpr bool is_field_name_byte(char c) {
  return is_ascii_letter(c) || is_ascii_digit(c) || c == '_' || c == '-' || c == '.' ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Keywords of filters.
constexpr std::string_view filter_words[] = {"and", "or", "not", "in", "has"};

inline bool is_filter_word(std::string_view word) {
  return std::find(std::begin(filter_words), std::end(filter_words), word) != std::end(filter_words);
}

/// Whether a field of this name can be kept.
inline bool is_kept_name(std::string_view name) {
  return !name.empty() && name.size() <= max_kept_name_bytes &&
         std::all_of(name.begin(), name.end(), is_field_name_byte) && !is_filter_word(name);
}

/// A number, a text, or no value. Texts are views of the bytes that they were read from.
struct FieldValue {
  enum class Kind : std::uint8_t { none, no, yes, number, text };

  Kind kind = Kind::none;
  double number = 0;
  std::string_view text;
};

/// Appends a value: one byte for its kind, then the number as a float64, or the text after its size as a varint.
inline void put_field_value(Bytes& out, const FieldValue& value) {
  out.push_back(static_cast<std::uint8_t>(value.kind));
  if (value.kind == FieldValue::Kind::number) put_le(out, value.number);
  if (value.kind == FieldValue::Kind::text) put_string(out, value.text);
}

/// Reads a value. Throws CorruptFile for an unknown kind, a text that is too long, a number that is not finite, or
/// missing bytes.
inline FieldValue read_field_value(ByteReader& reader) {
  const auto kind = reader.le<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(FieldValue::Kind::text)) reader.fail("has a field value of an unknown kind");
  FieldValue value;
  value.kind = static_cast<FieldValue::Kind>(kind);
  if (value.kind == FieldValue::Kind::number) value.number = reader.le<double>();
  if (!std::isfinite(value.number)) reader.fail("has a field value that is not a finite number");
  if (value.kind == FieldValue::Kind::text) value.text = reader.string();
  if (value.text.size() > max_kept_text_bytes) reader.fail("has a field value that is too long");
  return value;
}

/// A value for display, a number in its shortest form; empty if there is no value.
inline std::string plain_text(const FieldValue& value) {
  switch (value.kind) {
    case FieldValue::Kind::none:
      return {};
    case FieldValue::Kind::no:
      return "false";
    case FieldValue::Kind::yes:
      return "true";
    case FieldValue::Kind::number:
      return number_text(value.number);
    case FieldValue::Kind::text:
      break;
  }
  return std::string(value.text);
}

/// Names of a corpus's fields, where they differ from its format's own; empty means the format's own. `kept` lists the
/// fields whose values are kept with the documents.
struct FieldNames {
  std::string docno, title, text, url;
  std::string vector = {};  ///< the terms' weights, if the corpus supplies them
  std::vector<std::string> kept = {};

  bool operator==(const FieldNames&) const = default;
};

using FieldName = std::string FieldNames::*;  // named, since nvcc mishandles unnamed ones

/// A field's name on the command line and in manifests, its member, and its content, for help texts.
struct NamedField {
  const char* name;
  FieldName member;
  const char* content;
};
inline constexpr NamedField named_fields[] = {{"id", &FieldNames::docno, "id"},
                                              {"title", &FieldNames::title, "title"},
                                              {"text", &FieldNames::text, "text"},
                                              {"url", &FieldNames::url, "url"},
                                              {"vector", &FieldNames::vector, "weights of terms"}};

}  // namespace quern
