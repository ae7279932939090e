#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/io/piece_source.hpp"

namespace quern {

struct JsonParser;

/// Thrown by JsonReader for text that isn't JSON (RFC 8259).
class JsonDamage : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reads one JSON text of any size, piece by piece. Accepts what simdjson accepts: at most 1,023 levels of nested
/// non-empty values, no integer beyond 64 bits, no lone surrogate. The text must be valid UTF-8.
class JsonReader {
 public:
  /// Limit of a number's or literal's bytes.
  static constexpr std::size_t max_scalar_bytes = 64 << 10;
  static constexpr int end = -1;

  JsonReader(PieceSource& text, JsonParser& numbers) : text_(&text), numbers_(&numbers) {}

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
  /// Takes a number and returns its shortest form.
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
  std::string_view piece_;  ///< rest of the current piece
  std::string unescaped_;   ///< string_piece()'s result
  bool in_string_ = false;
  unsigned depth_ = 0;  ///< open arrays and objects
};

/// Pieces of the string that comes next.
class JsonStringPieces final : public PieceSource {
 public:
  explicit JsonStringPieces(JsonReader& reader) : reader_(&reader) { reader.begin_string(); }
  std::string_view next() override { return reader_->string_piece(); }

 private:
  JsonReader* reader_;
};

/// Parses a JSON object of any size in constant memory. The document or error is the same as for an object in memory.
ParsedRecord parse_json_in_pieces(const RecordText& record, RecordScratch& scratch, DocumentText& out);

}  // namespace quern
