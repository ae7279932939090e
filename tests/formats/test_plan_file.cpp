#include <algorithm>
#include <limits>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/order/order.hpp"

#include "catch.hpp"
#include "corpus/small_collection.hpp"
#include "formats/container_writing.hpp"
#include "formats/small_plan.hpp"

using namespace quern;
using namespace quern::testing;

namespace {

/// A plan of `count` lists with ascending terms.
CachePlan random_plan(std::size_t count, std::uint64_t seed) {
  RandomBits random(seed);
  CachePlan plan;
  PlanManifest& manifest = plan.manifest;
  manifest.policy = "qtfdf";
  manifest.budget_bytes = std::numeric_limits<std::uint64_t>::max();
  manifest.budget_rows = 5000000000;
  manifest.max_admission = 0.1;
  manifest.count = "probed";
  manifest.k = 1000;
  manifest.alpha = 0.6;
  manifest.bm25 = {0.9, 0.4};
  manifest.idf = "robertson";
  manifest.scores = "quantized";
  manifest.scorer = "bm25";
  manifest.early_termination = false;
  manifest.round = 64;
  manifest.block = 512;
  manifest.queries = 100;
  manifest.distinct_queries = 90;
  manifest.unknown_queries = 80;
  manifest.empty_queries = 70;
  manifest.log_hash = "ff00ff00ff00ff00";
  manifest.index_hash = "00ff00ff00ff00ff";
  manifest.index_bytes = 123456789012;
  term_t term = 0;
  for (std::size_t i = 0; i < count; ++i) {
    term += static_cast<term_t>(1 + random.below(1000));
    plan.lists.push_back({term, static_cast<std::uint32_t>(1 + random.below(UINT32_MAX)), random.below(1ull << 40)});
  }
  return plan;
}

Bytes plan_bytes(const TemporaryFolder& folder, const CachePlan& plan) {
  File file = File::anonymous(folder.path(""));
  write_plan(file, plan);
  return testing::bytes_of(file);
}

/// Loads a plan file with one section's bytes replaced.
CachePlan load_with(const TemporaryFolder& folder, const CachePlan& plan, std::string_view name, ByteView replacement) {
  Sections sections = testing::sections_of(plan_reader(folder.path(""), plan).container());
  for (auto& [section, content] : sections)
    if (section == name) content.assign(replacement.begin(), replacement.end());
  return PlanReader(ContainerReader(testing::shared(testing::container_file(folder.path(""), FileKind::plan, sections)),
                                    FileKind::plan))
      .load();
}

template <class Number>
Bytes array_bytes(const std::vector<Number>& numbers) {
  Bytes bytes;
  for (const Number number : numbers) put_le(bytes, number);
  return bytes;
}

/// An index of 600 documents in blocks of 64: lists of one posting and, second to last, "mill", in all documents.
IndexReader mill_index(const TemporaryFolder& folder) {
  std::vector<Page> pages;
  for (int i = 1000; i < 1600; ++i) {
    const std::string number = std::to_string(i);
    pages.push_back({"d" + number, "", "", "a" + number + " mill"});
  }
  pages.front().text += " zz";
  const CollectionReader collection = testing::collection_of(folder, pages);
  const Resources resources = testing::small_resources(folder);
  const OrderOptions natural;
  BuildOptions options;
  options.codec_options.block_size = 64;
  File file = File::anonymous(folder.path(""));
  build_index(collection, make_order(collection, natural, {}, resources), natural, options, resources, file);
  return IndexReader(ContainerReader(testing::shared(std::move(file)), FileKind::index));
}

}  // namespace

TEST_CASE("A plan is read back with its settings and lists, and has the sums of its lists",
          "[format][plan][property]") {
  const TemporaryFolder folder;
  for (const std::size_t count : {0, 1, 2, 1000}) {
    CachePlan plan = random_plan(count, count);
    plan.manifest.lists = plan.manifest.cached_blocks = plan.manifest.cached_bytes = 99;
    const PlanReader reader = plan_reader(folder.path(""), plan);
    const CachePlan loaded = reader.load();
    CHECK(loaded.lists == plan.lists);
    plan.manifest.lists = count;
    plan.manifest.cached_blocks = plan.manifest.cached_bytes = 0;
    for (const CachedList& list : plan.lists) {
      plan.manifest.cached_blocks += list.blocks;
      plan.manifest.cached_bytes += list.bytes;
    }
    CHECK(loaded.manifest.to_json() == plan.manifest.to_json());
    CHECK(reader.manifest().to_json() == plan.manifest.to_json());
    CHECK(plan_bytes(folder, loaded) == plan_bytes(folder, plan));
  }
}

TEST_CASE("Each field of a plan's manifest is read back", "[format][plan]") {
  const PlanManifest want = random_plan(0, 0).manifest;
  const PlanManifest found = PlanManifest::from_json(want.to_json(), "plan");
  CHECK(found.policy == want.policy);
  CHECK(found.budget_bytes == want.budget_bytes);
  CHECK(found.budget_rows == want.budget_rows);
  CHECK(found.max_admission == want.max_admission);
  CHECK(found.count == want.count);
  CHECK(found.k == want.k);
  CHECK(found.alpha == want.alpha);
  CHECK(found.bm25 == want.bm25);
  CHECK(found.idf == want.idf);
  CHECK(found.scores == want.scores);
  CHECK(found.scorer == want.scorer);
  CHECK(found.early_termination == want.early_termination);
  CHECK(found.round == want.round);
  CHECK(found.block == want.block);
  CHECK(found.queries == want.queries);
  CHECK(found.distinct_queries == want.distinct_queries);
  CHECK(found.unknown_queries == want.unknown_queries);
  CHECK(found.empty_queries == want.empty_queries);
  CHECK(found.log_hash == want.log_hash);
  CHECK(found.index_hash == want.index_hash);
  CHECK(found.index_bytes == want.index_bytes);
}

TEST_CASE("A plan for another index is refused, by its name and with the remedy", "[format][plan]") {
  const TemporaryFolder folder;
  const IndexReader index = mill_index(folder);
  const CachePlan right = testing::small_plan(index);
  CHECK_NOTHROW(plan_reader(folder.path(""), right).check_belongs_to(index));
  CHECK(plan_reader(folder.path(""), right).load_for(index).lists == right.lists);

  CachePlan other = right;
  other.manifest.index_hash.back() ^= 1;
  const std::string path = folder.path("other.plan");
  testing::write_plan_file(path, other);
  const PlanReader reader = PlanReader::open(path);
  CHECK_THROWS_AS(reader.check_belongs_to(index), InvalidArgument);
  CHECK_THROWS_AS(reader.load_for(index), InvalidArgument);
  try {
    reader.check_belongs_to(index);
  } catch (const InvalidArgument& error) {
    const std::string text = error.what();
    CHECK(text.find(path) == 0);
    CHECK(text.find("quern plan " + index.name() + " -q LOG -o PLAN") != text.npos);
  }
}

TEST_CASE("A plan cannot contain a term or block that its index lacks", "[format][plan]") {
  const TemporaryFolder folder;
  const IndexReader index = mill_index(folder);
  REQUIRE(index.find("mill")->df == 600);
  REQUIRE(index.find("mill")->number + std::uint64_t{1} < index.manifest().terms);
  const term_t mill = index.find("mill")->number, last = static_cast<term_t>(index.manifest().terms - 1);
  const auto fits = [&](const std::vector<CachedList>& lists, std::uint64_t block = 256) {
    CachePlan plan = testing::small_plan(index);
    plan.lists = lists;
    plan.manifest.block = block;
    const PlanReader reader = plan_reader(folder.path(""), plan);
    REQUIRE(reader.load().lists == lists);
    try {
      return reader.load_for(index).lists == lists;
    } catch (const CorruptFile&) {
      return false;
    }
  };
  CHECK(fits({}));
  CHECK(fits({{0, 1, 0}, {31, 1, 0}, {32, 1, 0}, {mill, 3, 5}, {last, 1, 0}}));
  CHECK(fits({{last, 1, 0}}));
  CHECK_FALSE(fits({{last + 1, 1, 0}}));
  CHECK_FALSE(fits({{0, 1, 0}, {UINT32_MAX, 1, 0}}));
  CHECK_FALSE(fits({{0, 2, 0}, {last, 1, 0}}));
  CHECK_FALSE(fits({{mill, 4, 0}}));
  CHECK(fits({{mill, 10, 0}}, 64));
  CHECK_FALSE(fits({{mill, 11, 0}}, 64));
  CHECK(fits({{mill, 1, 0}}, 640));
  CHECK_FALSE(fits({{mill, 2, 0}}, 640));
  CHECK_FALSE(fits({{mill, 1, 0}}, 96));
  CHECK_FALSE(fits({{mill, 1, 0}}, 32));
}

TEST_CASE("Lists that don't ascend, are empty or too few, or have a wrong sum are refused", "[format][plan]") {
  const TemporaryFolder folder;
  CachePlan plan = random_plan(0, 0);
  plan.lists = {{2, 1, 10}, {5, 3, 20}, {9, 2, 30}};
  const auto terms = [&](const std::vector<term_t>& numbers) {
    return load_with(folder, plan, "terms", array_bytes(numbers)).lists.size();
  };
  const auto blocks = [&](const std::vector<std::uint32_t>& numbers) {
    return load_with(folder, plan, "blocks", array_bytes(numbers)).lists.size();
  };
  const auto bytes = [&](const std::vector<std::uint64_t>& numbers) {
    return load_with(folder, plan, "bytes", array_bytes(numbers)).lists.size();
  };
  CHECK(terms({0, 5, UINT32_MAX}) == 3);
  for (const auto& wrong : std::vector<std::vector<term_t>>{{2, 2, 9}, {5, 2, 9}, {2, 9, 5}, {2, 5}, {2, 5, 9, 10}, {}})
    CHECK_THROWS_AS(terms(wrong), CorruptFile);
  CHECK(blocks({4, 1, 1}) == 3);
  for (const auto& wrong :
       std::vector<std::vector<std::uint32_t>>{{0, 4, 2}, {4, 2, 0}, {1, 3, 3}, {1, 3, 1}, {6}, {1, 3, 1, 1}, {}})
    CHECK_THROWS_AS(blocks(wrong), CorruptFile);
  CHECK(bytes({0, 0, 60}) == 3);
  constexpr std::uint64_t half = std::uint64_t{1} << 63;
  for (const auto& wrong : std::vector<std::vector<std::uint64_t>>{
           {10, 20, 31}, {10, 20, 29}, {half, half, 60}, {61, UINT64_MAX, 0}, {10, 50}, {10, 20, 30, 0}, {}})
    CHECK_THROWS_AS(bytes(wrong), CorruptFile);
  CHECK_THROWS_AS(load_with(folder, plan, "bytes", Bytes(23)), CorruptFile);
}

TEST_CASE("Hostile manifests of plans are refused at once", "[format][plan]") {
  const TemporaryFolder folder;
  CachePlan plan = random_plan(3, 1);
  const std::string sound = plan_reader(folder.path(""), plan).container().manifest();
  const auto load = [&](const std::string& manifest) {
    return load_with(folder, plan, "manifest", as_bytes(manifest)).lists;
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = sound;
    REQUIRE(text.find(from) != text.npos);
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(load(sound) == plan.lists);
  CHECK(load(with("\"max_admission\": 0.1", "\"max_admission\": 1")) == plan.lists);
  for (const std::string& wrong :
       {std::string(), std::string("[]"), std::string("{}"), std::string(1000000, '['),
        with("\"lists\": 3", "\"lists\": 2"), with("\"lists\": 3", "\"lists\": 18446744073709551615"),
        with("\"lists\": 3", "\"lists\": \"3\""), with("\"k\": 1000", "\"k\": 0"),
        with("\"block\": 512", "\"block\": 0"), with("\"round\": 64", "\"round\": 0"),
        with("\"policy\": \"qtfdf\"", "\"policy\": 1"), with("\"max_admission\": 0.1", "\"max_admission\": 0"),
        with("\"max_admission\": 0.1", "\"max_admission\": 1.5"),
        with("\"max_admission\": 0.1", "\"max_admission\": -1"),
        with("\"max_admission\": 0.1", "\"max_admission\": null"), with("\"idf\": \"robertson\"", "\"idf\": 1"),
        with("\"budget_rows\": 5000000000", "\"budget_rows\": \"1\""),
        with("\"scores\": \"quantized\"", "\"scores\": {}"), with("\"index_hash\"", "\"hash\"")}) {
    INFO(wrong.substr(0, 1000));
    CHECK_THROWS_AS(load(wrong), CorruptFile);
  }
}

TEST_CASE("A plan file that is truncated or has any bit changed is refused", "[format][plan]") {
  const TemporaryFolder folder;
  const Bytes sound = plan_bytes(folder, random_plan(5, 2));
  const auto read = [&](ByteView bytes) {
    const PlanReader reader = PlanReader::open(folder.write("plan", as_text(bytes)));
    reader.container().verify(default_resources());
    return reader.load().lists.size();
  };
  REQUIRE(read(sound) == 5);
  for (std::size_t size = 0; size < sound.size(); ++size) CHECK_THROWS_AS(read(ByteView(sound).first(size)), Error);
  for (std::size_t at = 0; at < sound.size(); ++at) {
    Bytes damaged = sound;
    damaged[at] ^= static_cast<std::uint8_t>(1u << at % 8);
    INFO("byte " << at);
    CHECK_THROWS_AS(read(damaged), Error);
  }
}
