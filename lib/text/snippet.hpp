#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/analyzer.hpp"

/// The part of a document's text that shows best why a query finds it.
namespace quern {

/// Words of a snippet, and bytes of a word: longer ones are cut between characters and count as several.
inline constexpr std::size_t snippet_words = 30, max_snippet_word_bytes = 64;

/// Bytes [begin, end) of a text.
struct TextPlace {
  std::size_t begin = 0, end = 0;
  bool operator==(const TextPlace&) const = default;
};

struct Snippet {
  std::string text;                ///< one line
  std::vector<TextPlace> matches;  ///< the words in it with terms of the query, without marks at their ends
};

/// Chooses among all runs of snippet_words words, which white space separates, one with the most distinct terms of a
/// query: the first of these, with as many words before its matches as after them. Without any match, the text's first
/// words. Reads the text once, in pieces, and keeps a few words of it.
class SnippetMaker {
 public:
  /// Of a query with more than 64 terms the first 64 by bytes count. The analyzer, that of the index, must outlive the
  /// object.
  SnippetMaker(std::string_view query, Analyzer& analyzer);

  /// The next piece of the text, which is UTF-8 and may end anywhere.
  void add(std::string_view piece);
  /// Ends the text, and begins the next one.
  Snippet finish();

 private:
  struct Word {
    std::string text;
    std::uint64_t terms = 0;  ///< a bit for each
    bool after_space = true;  ///< else it is the rest of the word before
  };
  void end_word(bool cut);
  void take(Word word);
  std::uint64_t terms_in(std::string_view word);

  std::vector<std::string> terms_;  ///< of the query, sorted
  Analyzer& analyzer_;
  std::string open_;  ///< the word at hand
  bool after_space_ = true;
  std::vector<Word> recent_;  ///< at most snippet_words
  std::vector<Word> best_;
  int best_terms_ = 0;
  std::size_t words_to_come_ = snippet_words;  ///< that are to follow best_
};

}  // namespace quern
