#pragma once
#include <bit>

#include "quern/io/piece_source.hpp"
#include "quern/text/text_block.hpp"
#include "quern/text/utf8.hpp"

/// Turns text into tokens. A token is a maximal run of Unicode letters (L*), marks (M*), decimal digits (Nd) and
/// ignorable characters other than the zero width space, case-folded (full), without the ignorable characters, and then
/// composed (NFC); in ASCII that is [a-z0-9]+ of the lower-cased text. All other characters separate tokens. A token
/// longer than max_term_bytes is cut there, between characters, and the rest of its run is dropped.
namespace quern {

inline constexpr std::size_t max_term_bytes = 255;

/// Readable bytes after a token's, with unspecified values.
inline constexpr std::size_t token_padding_bytes = 16;

namespace tokenizing {

/// The tokenizer's class of a byte: its lower case for ASCII letters and digits, or one of these.
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

/// Buffers for one token, and a count of cut tokens. Create one per thread.
class TokenBuffer {
 public:
  TokenBuffer();
  /// Tokens longer than max_term_bytes so far.
  std::uint64_t cut_terms() const { return cut_terms_; }

  /// Reports the tokens of `utf8` as tokenize() does. Unless the text `ends` there, leaves a run that reaches the end
  /// of `utf8`: returns the position of that run, or utf8.size() if there is none.
  template <class OnToken, class OnPhraseEnd>
  std::size_t tokenize_part(std::string_view utf8, bool ends, OnToken&& on_token, OnPhraseEnd&& on_phrase_end) {
    std::size_t at = 0;
    while (utf8.size() - at > part_bytes) {
      const std::string_view part = cut_at_character(utf8.substr(at), part_bytes);
      const std::size_t done = tokenize_blocks(part, false, on_token, on_phrase_end);
      // The run is at least part_bytes long.
      if (done == 0) return at + tokenize_bytes(utf8.substr(at), ends, on_token, on_phrase_end);
      at += done;
    }
    return at + tokenize_blocks(utf8.substr(at), ends, on_token, on_phrase_end);
  }

  /// The end of the run that contains `at`.
  static std::size_t run_end(std::string_view text, std::size_t at);

 private:
  /// Bytes tokenized at once.
  static constexpr std::size_t part_bytes = 4096;

  /// tokenize_part() of at most part_bytes bytes. Finds the ends of runs in 64 bytes at a time; a run first includes
  /// all adjacent non-ASCII bytes.
  template <class OnToken, class OnPhraseEnd>
  std::size_t tokenize_blocks(std::string_view utf8, bool ends, OnToken&& on_token, OnPhraseEnd&& on_phrase_end) {
    std::size_t begin = 0;  // of the current run
    bool in_run = false, is_ascii = true;
    const auto end_run = [&](std::size_t end) {
      if (is_ascii && end - begin <= max_term_bytes)
        on_token(std::string_view(lowered_.data() + begin, end - begin));
      else
        tokenize_bytes(utf8.substr(begin, end - begin), true, on_token, on_phrase_end);
      in_run = false;
    };
    for (std::size_t base = 0; base < utf8.size(); base += TextBlock::bytes) {
      const TextBlock block = classify_block(utf8, base, lowered_.data() + base);
      std::uint64_t edges = block.run ^ (block.run << 1 | std::uint64_t{in_run});
      // The end of the block's text does not end a run.
      if (const std::size_t left = utf8.size() - base; left < TextBlock::bytes) edges &= (std::uint64_t{1} << left) - 1;
      // Whether the current run is ASCII within the block's first bits.
      const auto sees_ascii = [&](std::uint64_t bits) { return (begin < base ? bits : bits >> (begin - base)) == 0; };
      for (std::uint64_t events = edges | block.phrase_ends; events != 0; events &= events - 1) {
        const auto bit = static_cast<unsigned>(std::countr_zero(events));
        const std::uint64_t mark = std::uint64_t{1} << bit;
        if ((edges & mark) == 0) {
          on_phrase_end();
        } else if (!in_run) {
          begin = base + bit;
          in_run = is_ascii = true;
        } else {
          is_ascii = is_ascii && sees_ascii(block.beyond_ascii & (mark - 1));
          end_run(base + bit);
          if ((block.phrase_ends & mark) != 0) on_phrase_end();
        }
      }
      if (in_run) is_ascii = is_ascii && sees_ascii(block.beyond_ascii);
    }
    if (!in_run) return utf8.size();
    if (!ends) return begin + tokenize_bytes(utf8.substr(begin), false, on_token, on_phrase_end);
    end_run(utf8.size());
    return utf8.size();
  }
  /// tokenize_part() byte by byte.
  template <class OnToken, class OnPhraseEnd>
  std::size_t tokenize_bytes(std::string_view utf8, bool ends, OnToken&& on_token, OnPhraseEnd&& on_phrase_end) {
    using namespace tokenizing;
    const std::size_t end = utf8.size();
    char* const token = bytes_.data();
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
        at = run_end(utf8, at);
        if (at == end && !ends) return begin;
        ++cut_terms_;
        on_token(std::string_view(token, size));
        continue;
      }
      if (at < end && kind == beyond_ascii) {
        std::size_t skip = 0;
        if (const std::size_t length = token_character(utf8, at, skip); length > 0) {
          at = run_end(utf8, at + length);
          if (at == end && !ends) return begin;
          fold(utf8.substr(begin, at - begin));
          if (size_ > 0) on_token(std::string_view(token, size_));
          continue;
        }
        at += skip;
      } else if (at < end) {
        ++at;
      } else if (!ends) {
        return begin;
      }
      if (size > 0) on_token(std::string_view(token, size));
      if (kind == end_of_phrase) on_phrase_end();
    }
    return end;
  }

  /// Length in bytes of the letter, mark or digit at text[at], a non-ASCII byte; 0 for a separator. `skip` is the
  /// character's length in both cases.
  static std::size_t token_character(std::string_view text, std::size_t at, std::size_t& skip);
  /// Folds a run with non-ASCII characters; the token is in bytes_[0, size_).
  void fold(std::string_view run);

  std::array<char, max_term_bytes + 1 + token_padding_bytes> bytes_{};
  std::array<char, part_bytes + TextBlock::bytes + token_padding_bytes> lowered_{};  ///< the current part
  std::size_t size_ = 0;
  std::uint64_t cut_terms_ = 0;
  std::vector<std::int32_t> points_;
};

/// Calls on_token(std::string_view) for each token of `utf8` (well-formed: see repair_utf8) and on_phrase_end() for
/// each `phrase_end`, in order. A token's bytes are valid until the next token, and token_padding_bytes after them are
/// readable.
template <class OnToken, class OnPhraseEnd>
void tokenize(std::string_view utf8, TokenBuffer& buffer, OnToken&& on_token, OnPhraseEnd&& on_phrase_end) {
  buffer.tokenize_part(utf8, true, on_token, on_phrase_end);
}

/// Tokenizes a text in pieces: holds the run that is open at the end of a piece.
class OpenRun {
 public:
  /// Reports the complete tokens of the open run and the next piece.
  template <class OnToken, class OnPhraseEnd>
  void add(std::string_view piece, TokenBuffer& buffer, OnToken&& on_token, OnPhraseEnd&& on_phrase_end) {
    std::string joint;
    while (is_open() && !piece.empty()) {
      joint.swap(held_);
      held_.clear();
      take_front(piece, joint);
      add_closed(joint, buffer, on_token, on_phrase_end);
    }
    if (!piece.empty()) add_closed(piece, buffer, on_token, on_phrase_end);
  }
  /// Reports the last token.
  template <class OnToken, class OnPhraseEnd>
  void end(TokenBuffer& buffer, OnToken&& on_token, OnPhraseEnd&& on_phrase_end) {
    if (!is_cut_) buffer.tokenize_part(held_, true, on_token, on_phrase_end);
  }

 private:
  bool is_open() const { return is_cut_ || !held_.empty(); }
  /// Moves a limited prefix of `piece`, if possible up to a byte that ends any run, to the end of `joint`.
  static void take_front(std::string_view& piece, std::string& joint);
  /// `text` without an incomplete character at its end.
  static std::string_view without_partial_character(std::string_view text);
  /// Whether a run of this size already determines its token.
  static bool is_decided(std::size_t run_bytes);

  template <class OnToken, class OnPhraseEnd>
  void add_closed(std::string_view text, TokenBuffer& buffer, OnToken&& on_token, OnPhraseEnd&& on_phrase_end) {
    const std::string_view whole = without_partial_character(text);
    std::size_t at = 0;
    if (is_cut_) {
      at = TokenBuffer::run_end(whole, 0);
      is_cut_ = at == whole.size();
    }
    at += buffer.tokenize_part(whole.substr(at), false, on_token, on_phrase_end);
    if (is_decided(whole.size() - at)) {
      buffer.tokenize_part(whole.substr(at), true, on_token, on_phrase_end);
      is_cut_ = true;
      at = whole.size();
    }
    held_ = text.substr(at);
  }

  std::string held_;     ///< the run's bytes, perhaps with a partial character
  bool is_cut_ = false;  ///< the run's token was reported already
};

/// tokenize() for a text in pieces, with memory independent of its size and of the length of its runs.
template <class OnToken, class OnPhraseEnd>
void tokenize(PieceSource& utf8, TokenBuffer& buffer, OnToken&& on_token, OnPhraseEnd&& on_phrase_end) {
  OpenRun open;
  for (std::string_view piece = utf8.next(); !piece.empty(); piece = utf8.next())
    open.add(piece, buffer, on_token, on_phrase_end);
  open.end(buffer, on_token, on_phrase_end);
}

}  // namespace quern
