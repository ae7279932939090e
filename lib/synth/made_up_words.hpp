#pragma once
#include <cstdint>
#include <string>

namespace quern {

/// Appends the word of a rank: syllables of a consonant and a vowel, two or more; each rank has its own word, the
/// first ones the shortest.
void append_word(std::uint32_t rank, std::string& text);

}  // namespace quern
