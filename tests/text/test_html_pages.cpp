#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

#include "quern/text/html.hpp"

#include "../text/pieces.hpp"
#include "../text/plain_document.hpp"
#include "catch.hpp"

using namespace quern;
using quern::testing::PlainDocument;

// tests/text/html_pages.jsonl contains 400 pages of random markup, most of it damaged, with the title, body and links
// that libxml2 2.9.14 found in them after Quern's former filter, but without the spaces for tags that format a part of
// a word. The results must not change.
TEST_CASE("Damaged pages give libxml2's results, whole and in pieces", "[text][pieces][property]") {
  std::ifstream in(std::string(QUERN_SOURCE_DIR) + "/tests/text/html_pages.jsonl");
  HtmlExtractor extractor;
  DocumentText out;
  std::size_t pages = 0;
  for (std::string line; std::getline(in, line); ++pages) {
    const auto row = nlohmann::json::parse(line);
    const auto page = row.at("page").get<std::string>();
    PlainDocument expected;
    row.at("title").get_to(expected.title);
    row.at("body").get_to(expected.body);
    for (const auto& link : row.at("links")) expected.links.push_back({link.at(0), link.at(1)});
    for (const std::size_t size : {100'000, 1, 7, 40}) {
      INFO("page " << pages << " in pieces of " << size << ": " << page);
      quern::testing::RandomPieces pieces(page, size, pages);
      extractor.extract(pieces, "http://Host.org/folder/../page/x?y", out);
      const PlainDocument found(out);
      CHECK(found.title == expected.title);
      CHECK(found.body == expected.body);
      CHECK(found.links == expected.links);
    }
  }
  CHECK(pages == 400);
}
