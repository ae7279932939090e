#pragma once
#include <bit>

#include "quern/text/text_block.hpp"

namespace quern {

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

}  // namespace quern

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {

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
