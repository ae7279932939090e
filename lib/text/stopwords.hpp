#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// Function words of English, and what is left of their contractions ("don", "ll"); sorted, as tokens.
const std::vector<std::string>& english_stopwords();

/// Tokens of a list of stop words: a word a line, what follows a # is a comment; sorted, each once. A line of several
/// tokens ("don't") gives each of them.
std::vector<std::string> parse_stopwords(std::string_view text);

/// parse_stopwords of a file. Throws IoError where it can't be read.
std::vector<std::string> read_stopwords(const std::string& path);

}  // namespace quern
