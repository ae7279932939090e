#pragma once
#include <cstdint>
#include <string>
#include <vector>

/// Random corpora from a seed, with the tokens that their index must contain.
namespace quern::testing {

struct ModelDocument {
  std::string docno, url, title, body;
  std::vector<std::string> tokens;  ///< of title and body
};

struct CorpusShape {
  std::size_t documents = 200;
  std::size_t vocabulary = 400;
  std::size_t max_length = 120;  ///< of a body, in tokens
  bool duplicates = false;       ///< some documents repeat the docno of an earlier one
};

/// Documents of 0 to max_length tokens with a skewed vocabulary, partly beyond ASCII; "everywhere" occurs in all that
/// aren't empty, "often" in two of three, and some terms hundreds of times.
std::vector<ModelDocument> random_corpus(std::uint64_t seed, const CorpusShape& shape);

std::string as_jsonl(const std::vector<ModelDocument>& documents);
/// TRECTEXT has no URLs.
std::string as_trectext(const std::vector<ModelDocument>& documents);

}  // namespace quern::testing
