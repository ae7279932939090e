#include <fstream>
#include <limits>
#include <sstream>

#include "quern/core/error.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/io/checksum.hpp"

#include "catch.hpp"
#include "corpus/small_collection.hpp"
#include "formats/container_writing.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

std::vector<Page> three_pages() { return {{"a", "", "", "one"}, {"b", "", "", "two"}, {"c", "", "", "three"}}; }

Bytes order_bytes(const TemporaryFolder& folder, const DocumentOrder& order, const OrderOptions& options,
                  const CollectionReader& collection) {
  File file = File::anonymous(folder.path(""));
  write_order(file, order, options, collection);
  return testing::bytes_of(file);
}

OrderReader reader_of(const TemporaryFolder& folder, ByteView bytes) {
  return OrderReader::open(folder.write("order", as_text(bytes)));
}

/// Opens the order file with one section's bytes replaced.
OrderReader reader_with(const TemporaryFolder& folder, ByteView bytes, std::string_view name, ByteView replacement) {
  Sections sections = testing::sections_of(reader_of(folder, bytes).container());
  for (auto& [section, content] : sections)
    if (section == name) content.assign(replacement.begin(), replacement.end());
  return OrderReader(ContainerReader(
      testing::shared(testing::container_file(folder.path(""), FileKind::order, sections)), FileKind::order));
}

Bytes array_bytes(const std::vector<docid_t>& numbers) {
  Bytes bytes;
  for (const docid_t number : numbers) put_le(bytes, number);
  return bytes;
}

}  // namespace

TEST_CASE("An order is read back with its options and scores", "[format]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::collection_of(folder, three_pages());
  OrderOptions options;
  options.by = OrderBy::random;
  options.seed = UINT64_MAX;
  DocumentOrder order{{2, 0, 1}, {}, {}};
  const OrderReader plain = reader_of(folder, order_bytes(folder, order, options, collection));
  CHECK(plain.manifest().options.by == OrderBy::random);
  CHECK(plain.manifest().options.seed == UINT64_MAX);
  CHECK(plain.manifest().documents == 3);
  CHECK(plain.load().documents == order.documents);
  CHECK(plain.load().pagerank.empty());
  CHECK_NOTHROW(plain.check_belongs_to(collection));

  order.pagerank = {0.5f, 0.25f, 0.125f};
  order.global_scores = {3, 2, 2};
  const OrderReader scored = reader_of(folder, order_bytes(folder, order, options, collection));
  CHECK(scored.load().documents == order.documents);
  CHECK(scored.load().pagerank == order.pagerank);
  CHECK(scored.load().global_scores == order.global_scores);
}

TEST_CASE("An order whose scores can't be right is refused", "[format]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::collection_of(folder, three_pages());
  const auto load = [&](const std::vector<float>& pagerank, const std::vector<float>& global_scores) {
    const DocumentOrder order{{2, 0, 1}, pagerank, global_scores};
    reader_of(folder, order_bytes(folder, order, {}, collection)).load();
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_NOTHROW(load({0, 1, 0.5f}, {3, 2, 2}));
  for (const float rank : {1.5f, -0.5f, nan}) CHECK_THROWS_WITH(load({0, rank, 0.5f}, {}), Catch::Contains("pagerank"));
  for (const std::vector<float>& scores : {std::vector{3.0f, 1.0f, 2.0f}, std::vector{3.0f, nan, 2.0f},
                                           std::vector{nan, 2.0f, 1.0f}, std::vector{1.0f, 0.0f, -1.0f}})
    CHECK_THROWS_WITH(load({0, 1, 0.5f}, scores), Catch::Contains("global_scores"));
}

TEST_CASE("An order of another collection is refused", "[format]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::collection_of(folder, three_pages());
  std::vector<Page> changed = three_pages();
  changed[1].text = "too";
  const CollectionReader other = testing::collection_of(folder, changed);
  const OrderReader order = reader_of(folder, order_bytes(folder, {{0, 1, 2}, {}, {}}, {}, collection));
  CHECK_THROWS_AS(order.check_belongs_to(other), InvalidArgument);
}

TEST_CASE("An order that is not a permutation, or has another length, is refused", "[format]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::collection_of(folder, three_pages());
  const Bytes bytes = order_bytes(folder, {{0, 1, 2}, {}, {}}, {}, collection);
  const auto load = [&](const std::vector<docid_t>& documents) {
    return reader_with(folder, bytes, "documents", array_bytes(documents)).load().documents;
  };
  CHECK(load({1, 0, 2}) == std::vector<docid_t>{1, 0, 2});
  for (const std::vector<docid_t>& wrong :
       std::vector<std::vector<docid_t>>{{0, 1, 1}, {0, 1, 3}, {0, 1, end_docid}, {0, 1}, {0, 1, 2, 3}, {}})
    CHECK_THROWS_AS(load(wrong), CorruptFile);
}

TEST_CASE("Hostile manifests are refused at once", "[format]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::collection_of(folder, three_pages());
  const Bytes bytes = order_bytes(folder, {{0, 1, 2}, {}, {}}, {}, collection);
  const auto open = [&](const std::string& manifest) {
    return reader_with(folder, bytes, "manifest", as_bytes(manifest)).load();
  };
  const std::string sound = reader_of(folder, bytes).container().manifest();
  CHECK_NOTHROW(open(sound));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    REQUIRE(text.find(from) != text.npos);
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK_THROWS_AS(open(""), CorruptFile);
  CHECK_THROWS_AS(open("[]"), CorruptFile);
  CHECK_THROWS_AS(open(with("\"documents\": 3", "\"documents\": 4")), CorruptFile);
  CHECK_THROWS_AS(open(with("\"documents\": 3", "\"documents\": 18446744073709551615")), CorruptFile);
  CHECK_THROWS_AS(open(with("\"documents\": 3", "\"documents\": \"3\"")), CorruptFile);
  CHECK_THROWS_AS(open(with("\"pagerank\": false", "\"pagerank\": true")), CorruptFile);
  CHECK_THROWS_AS(open(std::string(1000000, '[')), CorruptFile);
  std::string keys = "{";
  for (int i = 0; i < 200000; ++i) keys += "\"" + std::to_string(i) + "\":0,";
  CHECK_THROWS_AS(open(keys + "\"end\":0}"), CorruptFile);
}
