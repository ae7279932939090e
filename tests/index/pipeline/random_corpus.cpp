#include "index/pipeline/random_corpus.hpp"

#include <array>
#include <cmath>

#include "quern/core/random.hpp"

namespace quern::testing {
namespace {

constexpr std::array<const char*, 6> unusual_words = {"über", "naïve", "日本", "ночь", "0", "x2y2z2"};
constexpr std::array<const char*, 4> separators = {" ", ", ", "\\n", " - "};

/// Draws low numbers much more often than high ones.
std::string draw_word(RandomBits& random, std::size_t vocabulary) {
  const double skewed = std::exp(random.unit() * std::log(static_cast<double>(vocabulary)));
  const auto rank = static_cast<std::size_t>(skewed) - 1;
  if (rank % 7 == 3) return unusual_words[rank / 7 % unusual_words.size()];
  return "w" + std::to_string(rank);
}

std::string in_capitals(std::string word) {
  for (char& c : word)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return word;
}

std::string write_word(RandomBits& random, const std::string& word) {
  return random.below(8) == 0 ? in_capitals(word) : word;
}

std::vector<std::string> draw_body(RandomBits& random, const CorpusShape& shape) {
  std::vector<std::string> tokens;
  if (random.below(12) == 0) return tokens;
  const std::size_t length = random.below(shape.max_length + 1);
  while (tokens.size() < length) tokens.push_back(draw_word(random, shape.vocabulary));
  tokens.push_back("everywhere");
  if (random.below(3) != 0) tokens.push_back("often");
  if (random.below(40) == 0) tokens.insert(tokens.end(), 100 + random.below(900), draw_word(random, 3));
  return tokens;
}

std::string draw_url(RandomBits& random) {
  if (random.below(5) == 0) return {};
  return "http://host" + std::to_string(random.below(9)) + ".example/page" + std::to_string(random.below(1000));
}

}  // namespace

std::vector<ModelDocument> random_corpus(std::uint64_t seed, const CorpusShape& shape) {
  RandomBits random(seed);
  std::vector<ModelDocument> documents;
  for (std::size_t i = 0; i < shape.documents; ++i) {
    ModelDocument document;
    document.docno = "DOC/" + std::to_string(i * 7919 % 100003);
    if (shape.duplicates && i > 0 && random.below(10) == 0) document.docno = documents[random.below(i)].docno;
    document.url = draw_url(random);
    if (random.below(3) == 0) {
      document.tokens = {draw_word(random, shape.vocabulary), "titled"};
      document.title = write_word(random, document.tokens[0]) + " " + document.tokens[1];
    }
    for (const std::string& token : draw_body(random, shape)) {
      document.body += write_word(random, token) + separators[random.below(separators.size())];
      document.tokens.push_back(token);
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

std::string as_jsonl(const std::vector<ModelDocument>& documents) {
  std::string text;
  for (const ModelDocument& document : documents) {
    text += R"({"id":")" + document.docno + R"(","title":")" + document.title + R"(","contents":")" + document.body;
    text += document.url.empty() ? "\"}\n" : R"(","url":")" + document.url + "\"}\n";
  }
  return text;
}

std::string as_trectext(const std::vector<ModelDocument>& documents) {
  std::string text;
  for (const ModelDocument& document : documents) {
    std::string body = document.body;
    for (std::size_t at = 0; (at = body.find("\\n", at)) != body.npos;) body.replace(at, 2, "\n");
    text += "<DOC>\n<DOCNO> " + document.docno + " </DOCNO>\n<TITLE>" + document.title + "</TITLE>\n<TEXT>\n" + body +
            "\n</TEXT>\n</DOC>\n";
  }
  return text;
}

}  // namespace quern::testing
