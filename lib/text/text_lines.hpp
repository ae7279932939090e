#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "quern/core/bytes.hpp"
#include "quern/text/text_block.hpp"

namespace quern {

/// Writes a document's streams as text for people and for later stages: the title as one line, which is empty if there
/// is none, then a line for each phrase of the body that is not blank. White space runs together to single spaces, and
/// there is none at the ends of lines. Every line has a line end. The text has the same tokens as the streams, and its
/// body the same phrases.
class TextLines {
 public:
  /// The next piece of the title, or after end_title() of the body, wherever it ends. Appends to `out`.
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
  bool in_line_ = false;  ///< the line has a character
  bool space_ = false;    ///< and white space after it
};

}  // namespace quern

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {

/// Where the first byte of `text`, from `from` on, lies that is one of `wanted`; the size of `text` if there is none.
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
