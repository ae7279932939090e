#pragma once
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "quern/io/piece_source.hpp"

namespace quern::testing {

/// A text cut at random into pieces of 1 to `max_bytes` bytes; each piece is invalid once the next one is read.
class RandomPieces final : public PieceSource {
 public:
  RandomPieces(std::string_view text, std::size_t max_bytes, std::uint64_t seed)
      : text_(text), sizes_(1, max_bytes), random_(seed) {}
  std::string_view next() override {
    piece_ = std::make_unique<std::string>(text_.substr(0, sizes_(random_)));
    text_.remove_prefix(piece_->size());
    return *piece_;
  }

 private:
  std::string_view text_;
  std::uniform_int_distribution<std::size_t> sizes_;
  std::mt19937_64 random_;
  std::unique_ptr<std::string> piece_;
};

/// A text transformed by a stage with append() and finish(), fed with random pieces.
template <class Stage>
std::string changed_in_pieces(std::string_view text, Stage& stage, std::size_t max_bytes, std::uint64_t seed) {
  RandomPieces pieces(text, max_bytes, seed);
  std::string changed;
  for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) stage.append(piece, changed);
  stage.finish(changed);
  return changed;
}

/// A small text that is hard to read in pieces: markup, references, multibyte characters, invalid bytes.
inline std::string random_markup(std::mt19937_64& random, std::size_t max_parts = 60) {
  static constexpr std::string_view parts[] = {"<",
                                               "<",
                                               ">",
                                               "&",
                                               "&",
                                               "\"",
                                               "'",
                                               "/",
                                               "=",
                                               "a",
                                               "B",
                                               " ",
                                               "\n",
                                               "-",
                                               "--",
                                               "!",
                                               "?",
                                               ";",
                                               "#",
                                               "<!--",
                                               "-->",
                                               "<p>",
                                               "</p>",
                                               "<br/>",
                                               "<a href=x>",
                                               "<a href='y",
                                               "</a>",
                                               "<area href=z>",
                                               "<title>",
                                               "</title>",
                                               "<title/>",
                                               "<script>",
                                               "</script>",
                                               "</scrip",
                                               "<style",
                                               "</style >",
                                               "<svg>",
                                               "</svg>",
                                               "&amp;",
                                               "&eacute",
                                               "&#65",
                                               "&#x41;",
                                               "&blank;",
                                               "caf\xC3\xA9",
                                               "\xE2\x82\xAC",
                                               "\xF0\x9F\x98\x80",
                                               "\xE2\x82",
                                               "\xFF",
                                               "\xC3",
                                               "\xEF\xBB\xBF",
                                               "<base href=http://b/>",
                                               "<b class=x>",
                                               "<div",
                                               "href",
                                               "<!DOCTYPE x>",
                                               "<?x?>",
                                               "</",
                                               "word",
                                               "Hello",
                                               "\x01",
                                               "\r\n",
                                               "\n\n",
                                               "\xE9",
                                               "\xA4",
                                               "</doc>",
                                               "</DOC>",
                                               "<TEXT>",
                                               "</TEXT>",
                                               "<HEADLINE>",
                                               "<DOCNO>",
                                               "n1",
                                               "</DOCNO>",
                                               "<doc id=\"q\">",
                                               "\x1b$B",
                                               "\x1b(B"};
  const auto below = [&](std::size_t limit) { return random() % limit; };
  std::string text;
  for (std::size_t left = below(max_parts); left > 0; --left) {
    text += parts[below(std::size(parts))];
    if (below(40) == 0) text.append(below(900), "a1 \xCC"[below(4)]);
  }
  return text;
}

}  // namespace quern::testing
