#pragma once
#include <cstdint>
#include <string>
#include <vector>

/// Corpora drawn from a seed, together with the tokens that an index of them must hold.
namespace quern::testing {

struct ModelDocument {
  std::string docno, url, title, body;
  std::vector<std::string> tokens;  ///< of title and body
};

struct CorpusShape {
  std::size_t documents = 200;
  std::size_t vocabulary = 400;
  std::size_t max_length = 120;  ///< of a body, in tokens
  bool duplicates = false;       ///< some documents bear the docno of an earlier one
};

/// Documents of 0 to max_length tokens with a skewed vocabulary, some of it beyond ASCII; "everywhere" stands in all
/// that aren't empty, "often" in two of three, and now and then a term comes hundreds of times.
std::vector<ModelDocument> random_corpus(std::uint64_t seed, const CorpusShape& shape);

std::string as_jsonl(const std::vector<ModelDocument>& documents);
/// TRECTEXT has no URLs.
std::string as_trectext(const std::vector<ModelDocument>& documents);

}  // namespace quern::testing
