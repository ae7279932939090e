#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "quern/io/piece_source.hpp"

namespace quern {

struct JsonParser;

/// What JsonReader throws where the text isn't JSON (RFC 8259).
class JsonDamage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads one JSON text from front to back, piece by piece, of any size. Takes what simdjson takes: at most 1,023 levels
/// of nested values that are not empty, no integer beyond 64 bits, no lone surrogate. The text is valid UTF-8.
class JsonReader {
 public:
  /// Numbers and literals are no longer than this.
  static constexpr std::size_t max_scalar_bytes = 64 << 10;
  static constexpr int end = -1;

  JsonReader(PieceSource& text, JsonParser& numbers) : text_(&text), numbers_(&numbers) {}

  /// The next byte that isn't white space, which stays; `end` where there is none.
  int peek();
  /// Takes the next byte that isn't white space; JsonDamage if it is another.
  void take(char expected);
  /// Begins an array or an object, whose first byte is next, and says whether it has members: else it is taken whole.
  bool begin(char open);
  /// Goes on behind a member: true at a comma, false at the end of the array or object that `open` began.
  bool next_member(char open);

  /// Takes a string's first quote. The pieces of its text, unescaped, follow; the empty one after its last quote.
  void begin_string() { take('"'), in_string_ = true; }
  std::string_view string_piece();
  /// Takes a whole string, of which it gives the first bytes and, in `size`, how many there are.
  std::string take_string(std::size_t max_bytes, std::uint64_t& size);
  /// Takes a number, in its shortest form.
  std::string take_number();
  /// Takes a value of any kind.
  void skip_value();

 private:
  bool has_bytes() {
    if (piece_.empty()) piece_ = text_->next();
    return !piece_.empty();
  }
  int take_byte();
  unsigned take_hex();
  void take_escape();
  void put_point(char32_t point);
  std::string take_scalar();
  void skip_key();
  void skip_scalar();

  PieceSource* text_;
  JsonParser* numbers_;
  std::string_view piece_;  ///< what is left of the piece at hand
  std::string unescaped_;   ///< what string_piece() gave
  bool in_string_ = false;
  unsigned depth_ = 0;  ///< open arrays and objects
};

/// The text of a string that begins next, as pieces.
class JsonStringPieces final : public PieceSource {
 public:
  explicit JsonStringPieces(JsonReader& reader) : reader_(&reader) { reader.begin_string(); }
  std::string_view next() override { return reader_->string_piece(); }

 private:
  JsonReader* reader_;
};

}  // namespace quern
