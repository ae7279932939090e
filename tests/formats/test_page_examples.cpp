#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "quern/codec/short_list.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/formats/term_dictionary.hpp"
#include "quern/text/analyzer.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "formats/container_writing.hpp"
#include "formats/page_example.hpp"

/// The worked examples on the pages of our own formats, read from the pages.
using namespace quern;
using quern::testing::Sections;
using quern::testing::TemporaryFolder;

namespace {

/// The lines "name: text" of a page's example.
std::map<std::string, std::string> example_of(const std::string& page) {
  std::ifstream in(std::string(QUERN_SOURCE_DIR) + "/formats/" + page);
  std::map<std::string, std::string> fields;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "```") {
      inside = !inside;
    } else if (const std::size_t colon = line.find(": "); inside && colon != line.npos) {
      fields[line.substr(0, colon)] = line.substr(colon + 2);
    }
  }
  REQUIRE_FALSE(fields.empty());
  return fields;
}

/// The lines "name: text" of a block.
std::map<std::string, std::string> fields_of(const std::string& block) {
  std::istringstream in(block);
  std::map<std::string, std::string> fields;
  for (std::string line; std::getline(in, line);)
    if (const std::size_t colon = line.find(": "); colon != line.npos)
      fields[line.substr(0, colon)] = line.substr(colon + 2);
  return fields;
}

Bytes hex_bytes(const std::string& text) {
  std::istringstream in(text);
  Bytes bytes;
  for (unsigned byte; in >> std::hex >> byte;) bytes.push_back(static_cast<std::uint8_t>(byte));
  return bytes;
}

std::vector<std::uint32_t> numbers(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::uint32_t>(in), {}};
}

std::string bytes_text(ByteView bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) {
    constexpr const char* digits = "0123456789abcdef";
    if (!text.empty()) text += ' ';
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

/// Sixteen bytes per line after their offset, without the lines of zeros.
std::map<std::string, std::string> dump(ByteView bytes) {
  std::map<std::string, std::string> lines;
  for (std::size_t at = 0; at < bytes.size(); at += 16) {
    const ByteView line = bytes.subspan(at, std::min<std::size_t>(16, bytes.size() - at));
    if (std::any_of(line.begin(), line.end(), [](std::uint8_t byte) { return byte != 0; }))
      lines[fmt::format("{:03x}", at)] = bytes_text(line);
  }
  return lines;
}

}  // namespace

TEST_CASE("The worked example of the container's page holds", "[format]") {
  const TemporaryFolder folder;
  const Sections sections = {{"a", Bytes{1, 2, 3}}, {"manifest", Bytes{'{', '}'}}};
  const File file = testing::container_file(folder.path(""), FileKind::order, sections);
  auto example = example_of("container.md");
  example.erase("*");
  CHECK(dump(testing::bytes_of(file)) == example);
}

TEST_CASE("The worked example of the term dictionary's page holds", "[format]") {
  auto example = example_of("term_dictionary.md");
  Bytes bytes;
  DictionaryWriter writer([&](ByteView some) { bytes.insert(bytes.end(), some.begin(), some.end()); }, ".");
  writer.add("mill", Bytes{1});
  writer.add("miller", Bytes{2, 3});
  writer.add("stone", {});
  Bytes offsets;
  writer.finish().for_each_piece([&](ByteView some) { offsets.insert(offsets.end(), some.begin(), some.end()); });
  CHECK(bytes_text(bytes) == example["terms"]);
  CHECK(bytes_text(offsets) == example["terms_blocks"]);
}

TEST_CASE("The worked example of the order's page holds", "[format]") {
  auto example = example_of("order.md");
  const std::string manifest = example["manifest"];
  const TemporaryFolder folder;
  const Sections sections = {{"documents", hex_bytes(example["documents"])},
                             {"manifest", Bytes(manifest.begin(), manifest.end())}};
  const OrderReader order(ContainerReader(
      testing::shared(testing::container_file(folder.path(""), FileKind::order, sections)), FileKind::order));
  CHECK(order.load().documents == std::vector<docid_t>{2, 1, 0});
  CHECK(order.manifest().options.by == OrderBy::random);
  CHECK(order.manifest().options.seed == 1);
  CHECK(order.manifest().collection_hash == "0123456789abcdef");
}

TEST_CASE("The worked example of the plan's page holds", "[format][plan]") {
  auto example = testing::page_bytes("plan.md", "plan");
  const std::string manifest = testing::page_block("plan.md", "manifest");
  CachePlan plan;
  plan.manifest = PlanManifest::from_json(manifest, "plan.md");
  plan.lists = {{2, 1, 400}, {5, 3, 1440}};
  const TemporaryFolder folder;
  File file = File::anonymous(folder.path(""));
  write_plan(file, plan);
  const PlanReader reader(ContainerReader(testing::shared(std::move(file)), FileKind::plan));
  CHECK(reader.load().lists == plan.lists);
  for (const auto& [section, bytes] : testing::sections_of(reader.container())) {
    INFO(section);
    if (section != "manifest") CHECK(testing::hex_text(bytes) == example.at(section));
  }
  nlohmann::json written = nlohmann::json::parse(reader.container().manifest());
  nlohmann::json wanted = nlohmann::json::parse(manifest);
  CHECK(written.erase("tool") == 1);
  CHECK(wanted.erase("tool") == 1);
  CHECK(written == wanted);
  CHECK(wanted["settings"]["policy"] == "vfb");
  CHECK(reader.manifest().log_hash == "fedcba9876543210");
  CHECK(reader.manifest().max_admission == 0.5);
  CHECK(reader.manifest().index_bytes == 9000);
}

TEST_CASE("The worked example of the analyzer's page holds", "[format][text]") {
  const auto analyzed = [](std::string text, const char* stemmer, const char* stopwords) {
    const std::string symbol = "\xE2\x90\x9E";
    for (std::size_t at; (at = text.find(symbol)) != std::string::npos;) text.replace(at, symbol.size(), 1, phrase_end);
    std::string terms;
    const auto add = [&](std::string_view term) { terms.append(terms.empty() ? "" : " ").append(term); };
    Analyzer(make_analyzer_options(stemmer, stopwords)).analyze(text, add, [&] { add("|"); });
    return terms;
  };
  auto example = fields_of(testing::page_block("analyzer.md", "analyzer"));
  const std::string text = example["text"];
  CHECK(analyzed(text, "none", "none") == example["tokens"]);
  CHECK(analyzed(text, "porter2", "none") == example["terms, porter2"]);
  CHECK(analyzed(text, "porter2", "english") == example["terms, porter2 and english"]);

  std::istringstream words(testing::page_block("analyzer.md", "stopwords"));
  CHECK(std::vector<std::string>{std::istream_iterator<std::string>(words), {}} == stop_list("english"));
}

TEST_CASE("The worked example of the short lists' page holds", "[format][codec]") {
  auto example = example_of("codec/short_list.md");
  const docid_t documents = numbers(example["documents"]).at(0);
  const std::vector<docid_t> docids = numbers(example["docids"]);
  const std::vector<freq_t> freqs = numbers(example["freqs"]);
  REQUIRE(docids.size() == freqs.size());
  Bytes bytes;
  put_short_list(docids, freqs, documents, bytes);
  CHECK(bytes_text(bytes) == example["bytes"]);
}
