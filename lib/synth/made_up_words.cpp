#include "quern/synth/made_up_words.hpp"

#include <string_view>

namespace quern {

void append_word(std::uint32_t rank, std::string& text) {
  constexpr std::string_view consonants = "bdfghklmnprstvz", vowels = "aeiou";
  constexpr std::uint64_t syllables = consonants.size() * vowels.size();
  // Words of n syllables come behind all shorter ones.
  std::uint64_t left = rank, words = syllables * syllables;
  int length = 2;
  for (; left >= words; ++length, words *= syllables) left -= words;
  for (int i = 0; i < length; ++i, left /= syllables) {
    text += consonants[left % syllables / vowels.size()];
    text += vowels[left % vowels.size()];
  }
}

}  // namespace quern
