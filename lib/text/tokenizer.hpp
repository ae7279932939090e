#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/text/document_text.hpp"

/// From text to tokens. A token is a maximal run of Unicode letters (L*), marks (M*) and decimal digits (Nd), with full
/// case folding and then composed (NFC); in ASCII that is [a-z0-9]+ of the lower-cased text. All other characters
/// separate tokens. A token of more than max_term_bytes is cut there, at a character's end, and the rest of its run is
/// dropped.
namespace quern {

inline constexpr std::size_t max_term_bytes = 255;

namespace tokenizing {

/// What a byte of text is to the tokenizer: itself in lower case for ASCII letters and digits, or one of these.
inline constexpr std::uint8_t separator = 0, end_of_phrase = 1, beyond_ascii = 2;

constexpr std::array<std::uint8_t, 256> byte_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned c = '0'; c <= '9'; ++c) classes[c] = static_cast<std::uint8_t>(c);
  for (unsigned c = 'a'; c <= 'z'; ++c) {
    classes[c] = static_cast<std::uint8_t>(c);
    classes[c - 'a' + 'A'] = static_cast<std::uint8_t>(c);
  }
  for (unsigned c = 0x80; c < 0x100; ++c) classes[c] = beyond_ascii;
  classes[static_cast<unsigned char>(phrase_end)] = end_of_phrase;
  return classes;
}
inline constexpr std::array<std::uint8_t, 256> classes = byte_classes();

}  // namespace tokenizing

/// Space for one token, and a count of cut tokens; one per thread.
class TokenBuffer {
 public:
  TokenBuffer();
  /// Tokens that were longer than max_term_bytes so far.
  std::uint64_t cut_terms() const { return cut_terms_; }

 private:
  template <class OnToken, class OnPhraseEnd>
  friend void tokenize(std::string_view, TokenBuffer&, OnToken&&, OnPhraseEnd&&);

  /// Length in bytes of the letter, mark or digit that begins at text[at], a byte beyond ASCII; 0 if what begins
  /// there separates. Its length is in `skip` either way.
  static std::size_t token_character(std::string_view text, std::size_t at, std::size_t& skip);
  /// Folds the run that begins at text[begin] and holds something beyond ASCII, whose bytes before `known` are of the
  /// run. Returns the run's end; the token is in bytes_[0, size_).
  std::size_t fold_run(std::string_view text, std::size_t begin, std::size_t known);
  /// Where the run that `at` lies in ends.
  static std::size_t run_end(std::string_view text, std::size_t at);
  /// The same, for a run whose token is full and so is cut.
  std::size_t cut_run(std::string_view text, std::size_t at);

  std::array<char, max_term_bytes + 1> bytes_{};
  std::size_t size_ = 0;
  std::uint64_t cut_terms_ = 0;
  std::vector<std::int32_t> points_;
};

/// Calls on_token(std::string_view) for each token of `utf8` (well-formed: see repair_utf8) and on_phrase_end() for
/// each `phrase_end`, in order. A token's bytes are valid until the next.
template <class OnToken, class OnPhraseEnd>
void tokenize(std::string_view utf8, TokenBuffer& buffer, OnToken&& on_token, OnPhraseEnd&& on_phrase_end) {
  using namespace tokenizing;
  const std::size_t end = utf8.size();
  char* const token = buffer.bytes_.data();
  for (std::size_t at = 0; at < end;) {
    const std::size_t begin = at;
    std::size_t size = 0;
    std::uint8_t kind = 0;
    while (at < end) {
      kind = classes[static_cast<unsigned char>(utf8[at])];
      if (kind <= beyond_ascii || size == max_term_bytes) break;
      token[size++] = static_cast<char>(kind);
      ++at;
    }
    if (at < end && kind > beyond_ascii) {
      at = buffer.cut_run(utf8, at);
      on_token(std::string_view(token, size));
      continue;
    }
    if (at < end && kind == beyond_ascii) {
      std::size_t skip = 0;
      if (const std::size_t length = TokenBuffer::token_character(utf8, at, skip); length > 0) {
        at = buffer.fold_run(utf8, begin, at + length);
        on_token(std::string_view(token, buffer.size_));
        continue;
      }
      at += skip;
    } else if (at < end) {
      ++at;
    }
    if (size > 0) on_token(std::string_view(token, size));
    if (kind == end_of_phrase) on_phrase_end();
  }
}

}  // namespace quern
