#pragma once
#include <bit>
#include <cstring>

#include "quern/core/bytes.hpp"
#include "quern/io/piece_source.hpp"
#include "quern/text/spooled_document.hpp"

namespace quern {

/// Marks the end of a phrase in a DocumentText's streams (a heading, a paragraph, a list item, a table cell). All other
/// separators, tags included, appear as white space.
inline constexpr char phrase_end = '\x1e';

/// The indexable content of one document: valid UTF-8, entities resolved, no tags.
struct DocumentText {
  /// Large titles, bodies, links and weights go to work files in `tmp_folder`.
  explicit DocumentText(const std::string& tmp_folder = ".")
      : title(tmp_folder), body(tmp_folder), links(tmp_folder), weights(tmp_folder) {}

  std::string docno;
  std::string url;  ///< empty if the document has none
  SpooledText title;
  SpooledText body;
  SpooledLinks links;
  SpooledWeights weights;  ///< if the corpus supplies term weights: indexed instead of the texts
  Bytes kept;              ///< encoded values of kept fields (field_value.hpp); empty if there are none

  void clear() {
    docno.clear();
    url.clear();
    title.clear();
    body.clear();
    links.clear();
    weights.clear();
    kept.clear();
  }
};

}  // namespace quern

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {

/// The tokenizer's classification of 64 bytes, one bit per byte, the first byte lowest.
struct TextBlock {
  static constexpr std::size_t bytes = 64;

  std::uint64_t run = 0;           ///< ASCII letters and digits, and all non-ASCII bytes
  std::uint64_t beyond_ascii = 0;  ///< non-ASCII bytes
  std::uint64_t phrase_ends = 0;
};

/// Classifies 64 bytes and copies them to `lowered`, with ASCII letters in lower case and digits unchanged; other bytes
/// are unspecified.
inline TextBlock classify_whole_block(const char* text, char* lowered) {
  TextBlock block;
#if defined(__AVX2__)
  for (unsigned half = 0; half < 2; ++half) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text) + half);
    const __m256i lower = _mm256_or_si256(bytes, _mm256_set1_epi8(0x20));
    const __m256i letter = _mm256_sub_epi8(lower, _mm256_set1_epi8('a'));
    const __m256i digit = _mm256_sub_epi8(bytes, _mm256_set1_epi8('0'));
    const __m256i is_letter = _mm256_cmpeq_epi8(_mm256_min_epu8(letter, _mm256_set1_epi8(25)), letter);
    const __m256i is_digit = _mm256_cmpeq_epi8(_mm256_min_epu8(digit, _mm256_set1_epi8(9)), digit);
    const __m256i is_end = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(phrase_end));
    // The bit 0x20 is set in lower-case letters and in all digits.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lowered) + half, lower);
    const auto bits = [half](__m256i mask) {
      return std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(mask))} << (32 * half);
    };
    block.beyond_ascii |= bits(bytes);
    block.run |= bits(_mm256_or_si256(bytes, _mm256_or_si256(is_letter, is_digit)));
    block.phrase_ends |= bits(is_end);
  }
#else
  for (unsigned i = 0; i < TextBlock::bytes; ++i) {
    const char c = text[i];
    const std::uint64_t bit = std::uint64_t{1} << i;
    const bool beyond_ascii = static_cast<unsigned char>(c) >= 0x80;
    lowered[i] = static_cast<char>(c | 0x20);
    if (beyond_ascii) block.beyond_ascii |= bit;
    if (beyond_ascii || is_ascii_letter(c) || is_ascii_digit(c)) block.run |= bit;
    if (c == phrase_end) block.phrase_ends |= bit;
  }
#endif
  return block;
}

/// As above for the block at text[at]. Bytes past the end count as separators.
inline TextBlock classify_block(std::string_view text, std::size_t at, char* lowered) {
  if (text.size() - at >= TextBlock::bytes) return classify_whole_block(text.data() + at, lowered);
  std::array<char, TextBlock::bytes> padded{};
  std::memcpy(padded.data(), text.data() + at, text.size() - at);
  return classify_whole_block(padded.data(), lowered);
}

/// The window of a stage on a text that comes in pieces: each piece, preceded by what the stage left of earlier ones.
class TextWindow {
 public:
  /// Calls read(std::string_view window), which returns how many bytes it consumed. Skips the call for small pieces
  /// while many bytes are left, so that time stays linear.
  template <class Read>
  void append(std::string_view piece, Read&& read) {
    if (left_.empty()) {
      left_ = piece.substr(read(piece));
    } else {
      left_ += piece;
      if (left_.size() < enough_) return;
      left_.erase(0, read(std::string_view(left_)));
    }
    enough_ = left_.size() + std::min(left_.size(), default_piece_bytes);
  }
  /// Shows the remaining bytes at the end of the text.
  template <class Read>
  void finish(Read&& read) {
    read(std::string_view(left_));
    left_.clear();
  }

 private:
  std::string left_;
  std::size_t enough_ = 0;  ///< minimum size of left_ for the next read
};

/// Writes a document's streams as readable text: the title as one line, empty if there is none, then one line per
/// nonblank phrase of the body. Lines are trimmed, and runs of white space become one space. Every line has a line end.
/// The text has the same tokens as the streams, and its body the same phrases.
class TextLines {
 public:
  /// Appends the next piece of the title, or of the body after end_title(), to `out`. Pieces may end anywhere.
  void append(std::string_view piece, std::string& out) {
    for (const char c : piece) {
      if (c == phrase_end && in_body_) {
        end_line(out);
      } else if (is_ascii_space(c) || c == phrase_end) {
        space_ = in_line_;
      } else {
        if (space_) out.push_back(' ');
        out.push_back(c);
        space_ = false;
        in_line_ = true;
      }
    }
  }
  void end_title(std::string& out) {
    out.push_back('\n');
    space_ = in_line_ = false;
    in_body_ = true;
  }
  /// Ends the text; the next one may begin.
  void finish(std::string& out) {
    end_line(out);
    in_body_ = false;
  }

 private:
  void end_line(std::string& out) {
    if (in_line_) out.push_back('\n');
    space_ = in_line_ = false;
  }

  bool in_body_ = false;
  bool in_line_ = false;  ///< the line is not empty
  bool space_ = false;    ///< white space follows its last character
};

/// The position at or after `from` of the first byte in `wanted`; text.size() if there is none.
template <char... wanted>
std::size_t find_any_of(std::string_view text, std::size_t from) {
  std::size_t at = from;
#if defined(__AVX2__)
  constexpr std::size_t block_bytes = 32;
  for (; at + block_bytes <= text.size(); at += block_bytes) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text.data() + at));
    __m256i found = _mm256_setzero_si256();
    ((found = _mm256_or_si256(found, _mm256_cmpeq_epi8(block, _mm256_set1_epi8(wanted)))), ...);
    const auto bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(found));
    if (bits != 0) return at + static_cast<std::size_t>(std::countr_zero(bits));
  }
#endif
  while (at < text.size() && ((text[at] != wanted) && ...)) ++at;
  return at;
}

}  // namespace quern
