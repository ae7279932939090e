#pragma once
#include <stdexcept>

#include "quern/io/piece_source.hpp"

namespace quern {

/// Thrown by JsonReader for text that isn't JSON.
class JsonDamage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads one JSON text (RFC 8259) of any size, piece by piece, with numbers of any size. Takes NaN, Infinity and
/// -Infinity for numbers too, since Python writes them. An escaped lone surrogate becomes U+FFFD. Doesn't check that
/// strings are UTF-8.
class JsonReader {
 public:
  /// Limit of a number's or literal's bytes.
  static constexpr std::size_t max_scalar_bytes = 64 << 10;
  static constexpr unsigned default_max_levels = 1023;
  static constexpr int end = -1;

  /// `max_levels` limits the nesting of non-empty arrays and objects.
  explicit JsonReader(PieceSource& text, unsigned max_levels = default_max_levels)
      : text_(&text), max_levels_(max_levels) {}

  /// Bytes taken so far.
  std::uint64_t offset() const { return fetched_ - piece_.size(); }
  /// Returns the next byte that isn't white space without taking it; `end` if there is none.
  int peek();
  /// Takes the next byte that isn't white space; throws JsonDamage unless it is `expected`.
  void take(char expected);
  /// Enters an array or object that comes next. Returns false if it is empty, and takes it whole.
  bool begin(char open);
  /// Continues after a member: true at a comma, false at the end of the array or object that `open` began.
  bool next_member(char open);

  /// Takes a string's opening quote. string_piece() then returns its unescaped text; an empty piece ends it.
  void begin_string() { take('"'), in_string_ = true; }
  std::string_view string_piece();
  /// Takes a whole string. Returns its first max_bytes and sets `size` to its length.
  std::string take_string(std::size_t max_bytes, std::uint64_t& size);
  /// Lone surrogates replaced in strings so far, without those that skip_value() took.
  std::uint64_t replaced_surrogates() const { return replaced_; }
  /// Whether a number comes next.
  bool is_at_number();
  /// The nearest double; infinite beyond its range.
  double take_number();
  /// Takes a number and returns an integer as written, another in its shortest form, and an empty text for NaN and
  /// what lies beyond a double's range.
  std::string take_number_text();
  /// Takes a number or literal as written, valid or not; empty if another value comes next. The view is valid until the
  /// next call.
  std::string_view take_scalar();
  /// Takes a value of any kind.
  void skip_value();
  /// Takes an object. read(name, size), with the first max_name_bytes of a member's name and its length, must take the
  /// member's value.
  template <class Read>
  void take_object(std::size_t max_name_bytes, Read&& read) {
    if (!begin('{')) return;
    do {
      std::uint64_t size = 0;
      const std::string name = take_string(max_name_bytes, size);
      take(':');
      read(name, size);
    } while (next_member('{'));
  }
  /// Throws JsonDamage unless the text ends here.
  void take_end() {
    if (peek() != end) throw JsonDamage("there is extra data after the value");
  }

 private:
  bool has_bytes() {
    if (piece_.empty()) {
      piece_ = text_->next();
      fetched_ += piece_.size();
    }
    return !piece_.empty();
  }
  int take_byte();
  unsigned take_hex();
  void take_escape();
  void replace_surrogate();
  void skip_string();
  void skip_scalar();

  PieceSource* text_;
  unsigned max_levels_;
  std::string_view piece_;  ///< rest of the current piece
  std::uint64_t fetched_ = 0;
  std::string unescaped_;  ///< string_piece()'s result
  std::string scalar_;     ///< a scalar that two pieces hold
  bool in_string_ = false;
  char32_t surrogate_ = 0;  ///< the last escape, if the next one may complete it
  std::uint64_t replaced_ = 0;
  unsigned depth_ = 0;  ///< open arrays and objects
};

/// A JSON text, or one that isn't, for parsers with narrower limits: null for NaN, Infinity and numbers beyond a
/// double's range, doubles for integers beyond 64 bits, U+FFFD for escaped lone surrogates. If `with_long_ids`, such
/// integers become strings as values of the outermost object.
std::string narrowed_json(std::string_view json, bool with_long_ids);

/// Pieces of the string that comes next.
class JsonStringPieces final : public PieceSource {
 public:
  explicit JsonStringPieces(JsonReader& reader) : reader_(&reader) { reader.begin_string(); }
  std::string_view next() override { return reader_->string_piece(); }

 private:
  JsonReader* reader_;
};

}  // namespace quern
