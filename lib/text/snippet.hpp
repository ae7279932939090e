#pragma once
#include "quern/text/analyzer.hpp"

/// The passage of a document's text that best shows why a query matches it.
namespace quern {

/// Words per snippet, and bytes per word: longer words are split between characters and count as several.
inline constexpr std::size_t snippet_words = 30, max_snippet_word_bytes = 64;

/// Bytes [begin, end) of a text.
struct TextPlace {
  std::size_t begin = 0, end = 0;
  bool operator==(const TextPlace&) const = default;
};

struct Snippet {
  std::string text;                ///< one line
  std::vector<TextPlace> matches;  ///< words with query terms, without surrounding punctuation
};

/// Chooses, among all passages of snippet_words words separated by white space, the first one with the most distinct
/// query terms, and centres the matches in it. Without a match, takes the text's first words. Reads the text once, in
/// pieces, and keeps only a few words in memory.
class SnippetMaker {
 public:
  /// Of more than 64 query terms, the first 64 in byte order count. The analyzer, which must be the index's, must
  /// outlive the object.
  SnippetMaker(std::string_view query, Analyzer& analyzer);

  /// The next piece of the UTF-8 text; pieces may end anywhere.
  void add(std::string_view piece);
  /// Ends the text; the next add() begins another one.
  Snippet finish();

 private:
  struct Word {
    std::string text;
    std::uint64_t terms = 0;  ///< bit i: contains terms_[i]
    bool after_space = true;  ///< false: continues the previous word
  };
  void end_word(bool cut);
  void take(Word word);
  std::uint64_t terms_in(std::string_view word);

  std::vector<std::string> terms_;  ///< query terms, sorted
  Analyzer& analyzer_;
  std::string open_;  ///< the unfinished word
  bool after_space_ = true;
  std::vector<Word> recent_;  ///< at most snippet_words
  std::vector<Word> best_;
  int best_terms_ = 0;
  std::size_t words_to_come_ = snippet_words;  ///< words still to append to best_
};

}  // namespace quern
