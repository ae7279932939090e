#include <fstream>
#include <map>
#include <sstream>

#include "quern/codec/codec.hpp"

#include "catch.hpp"
#include "codec/posting_lists.hpp"

/// The worked examples on the codecs' format pages, read from the pages themselves.
namespace quern {
namespace {

/// The lines "name: numbers" of a page's example; `words` are hexadecimal.
std::map<std::string, std::vector<std::uint32_t>> example_of(const std::string& page) {
  std::ifstream in(std::string(QUERN_SOURCE_DIR) + "/formats/" + page);
  std::map<std::string, std::vector<std::uint32_t>> fields;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "```") {
      inside = !inside;
      continue;
    }
    if (!inside) continue;
    const std::size_t colon = line.find(':');
    const std::string name = line.substr(0, colon);
    std::istringstream numbers(line.substr(colon + 1));
    if (name == "words") numbers >> std::hex;
    for (std::uint32_t number; numbers >> number;) fields[name].push_back(number);
  }
  return fields;
}

}  // namespace

TEST_CASE("the worked examples on the codecs' pages are correct", "[codec][format]") {
  for (const Codec* codec : all_codecs()) {
    INFO(codec->name);
    auto example = example_of("codec/" + std::string(codec->name) + ".md");
    REQUIRE(example["words"].size() > 1);
    const std::vector<std::uint32_t>&docids = example["docids"], &freqs = example["freqs"];
    REQUIRE(docids.size() == freqs.size());

    CodecOptions options;
    options.block_size = example["block size"].at(0);
    if (!example["recursion"].empty()) options.recursion = example["recursion"][0];
    test::List list;
    for (std::size_t i = 0; i < docids.size(); ++i) {
      list.gaps.push_back(docids[i] - (i == 0 ? end_docid : docids[i - 1]) - 1);
      list.freqs.push_back(freqs[i] - 1);
    }
    CHECK(test::encode(*codec->make_encoder(options), list, options.block_size).words == example["words"]);

    Words padded = example["words"];
    padded.resize(padded.size() + over_read_bytes / 4);
    const WordView words(padded.data(), example["words"].size());
    const auto decoder = codec->make_decoder(options, words);
    const WordView block = words.subspan(codec->header_words(options));
    const auto n = static_cast<unsigned>(docids.size());
    std::vector<std::uint32_t> out(n + over_write_values);
    CHECK(decoder->block_words(block, n) == block.size());
    decoder->decode_docids(block, n, end_docid, out.data());
    CHECK(std::equal(docids.begin(), docids.end(), out.begin()));
    decoder->decode_freqs(block, n, out.data());
    CHECK(std::equal(freqs.begin(), freqs.end(), out.begin()));
  }
}

}  // namespace quern
