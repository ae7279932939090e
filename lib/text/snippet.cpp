#include "quern/text/snippet.hpp"

#include <bit>

#include "quern/text/utf8.hpp"

namespace quern {
namespace {

constexpr std::size_t max_terms = 64;

bool is_ascii_mark(char c) { return static_cast<unsigned char>(c) < 0x80 && !is_ascii_letter(c) && !is_ascii_digit(c); }

/// The range of a nonempty word without leading and trailing punctuation.
TextPlace place_of(std::string_view word, std::size_t begin) {
  TextPlace place{begin, begin + word.size()};
  while (place.end > place.begin + 1 && is_ascii_mark(word[place.end - begin - 1])) --place.end;
  while (place.begin + 1 < place.end && is_ascii_mark(word[place.begin - begin])) ++place.begin;
  return place;
}

/// Appends a word and drops the first one beyond snippet_words.
template <class Word>
void append_word(std::vector<Word>& words, Word word) {
  if (words.size() == snippet_words) words.erase(words.begin());
  words.push_back(std::move(word));
}

}  // namespace

SnippetMaker::SnippetMaker(std::string_view query, Analyzer& analyzer) : analyzer_(analyzer) {
  terms_ = analyzer.terms(query);
  std::sort(terms_.begin(), terms_.end());
  terms_.erase(std::unique(terms_.begin(), terms_.end()), terms_.end());
  if (terms_.size() > max_terms) terms_.resize(max_terms);
}

std::uint64_t SnippetMaker::terms_in(std::string_view word) {
  std::uint64_t found = 0;
  for (const std::string& term : analyzer_.terms(word)) {
    const auto place = std::lower_bound(terms_.begin(), terms_.end(), term);
    if (place != terms_.end() && *place == term) found |= std::uint64_t{1} << (place - terms_.begin());
  }
  return found;
}

void SnippetMaker::add(std::string_view piece) {
  for (const char c : piece) {
    if (is_ascii_space(c)) {
      end_word(false);
      continue;
    }
    open_ += c;
    if (open_.size() > max_snippet_word_bytes) end_word(true);
  }
}

void SnippetMaker::end_word(bool cut) {
  if (!open_.empty()) {
    Word word;
    word.after_space = after_space_;
    if (cut) {
      const std::size_t whole = cut_at_character(open_, max_snippet_word_bytes).size();
      // Invalid UTF-8 may be cut anywhere.
      const std::size_t size = whole > 0 ? whole : max_snippet_word_bytes;
      word.text = open_.substr(0, size);
      open_.erase(0, size);
    } else {
      word.text = std::exchange(open_, {});
    }
    word.terms = terms_in(word.text);
    take(std::move(word));
  }
  after_space_ = !cut;
}

void SnippetMaker::take(Word word) {
  append_word(recent_, word);
  std::uint64_t terms = 0;
  for (const Word& each : recent_) terms |= each.terms;
  const int count = std::popcount(terms);
  if (count > best_terms_) {
    best_ = recent_;
    best_terms_ = count;
    const auto first = std::find_if(recent_.begin(), recent_.end(), [](const Word& each) { return each.terms != 0; });
    const auto matched = static_cast<std::size_t>(recent_.end() - first);
    // If few words precede the matches, as at the start of a text, more follow them.
    words_to_come_ = std::max((snippet_words - matched) / 2, snippet_words - recent_.size());
  } else if (words_to_come_ > 0) {
    append_word(best_, std::move(word));
    --words_to_come_;
  }
}

Snippet SnippetMaker::finish() {
  end_word(false);
  Snippet snippet;
  for (const Word& word : best_) {
    if (!snippet.text.empty() && word.after_space) snippet.text += ' ';
    const std::size_t begin = snippet.text.size();
    snippet.text += word.text;
    if (word.terms != 0) snippet.matches.push_back(place_of(word.text, begin));
  }
  recent_.clear();
  best_.clear();
  best_terms_ = 0;
  words_to_come_ = snippet_words;
  return snippet;
}

}  // namespace quern
