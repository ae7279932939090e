#include <nlohmann/json.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "quern/formats/collection.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/io/zstd_frame.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"

/// Stored files, which this program must read with the same results, and write again with the same bytes.
/// tests/formats/golden/README.md lists the commands that wrote them.
namespace quern {
namespace {

using namespace testing;

std::string golden(const std::string& name) { return std::string(QUERN_SOURCE_DIR) + "/tests/formats/golden/" + name; }

/// The contents of a container that must not change: its sections, and its manifest without the versions of program and
/// libraries.
struct Settled {
  std::map<std::string, Bytes> sections;
  nlohmann::json manifest;
};

Settled settled(const std::string& path, FileKind kind) {
  const ContainerReader container = ContainerReader::open(path, kind);
  container.verify(default_resources());
  Settled settled;
  settled.manifest = nlohmann::json::parse(container.manifest());
  // Another version of zstd may give different bytes.
  const auto& libraries = settled.manifest["libraries"];
  const bool same_zstd = !libraries.is_object() || libraries.value("zstd", "") == zstd_version();
  for (const SectionInfo& section : container.sections()) {
    const std::string name(section.name);
    const bool is_compressed = name == "texts" || name == "text_offsets" || name.starts_with("chunk");
    if (name == "manifest" || (is_compressed && !same_zstd)) continue;
    const ByteView bytes = container.view(name);
    settled.sections[name].assign(bytes.begin(), bytes.end());
  }
  settled.manifest.erase("tool");
  settled.manifest.erase("libraries");
  // The golden collection is from before titles were counted.
  if (settled.manifest.contains("counts")) settled.manifest["counts"].erase("title_tokens");
  return settled;
}

void check_same(const std::string& now, const std::string& before, FileKind kind) {
  INFO(before);
  const Settled written = settled(now, kind), golden = settled(before, kind);
  CHECK(written.manifest == golden.manifest);
  for (const auto& [name, bytes] : golden.sections) {
    INFO(name);
    const auto same = written.sections.find(name);
    REQUIRE(same != written.sections.end());
    CHECK(same->second == bytes);
  }
}

}  // namespace

TEST_CASE("Golden files are written again with the same bytes, and read with the same results", "[format][golden]") {
  const TemporaryFolder folder;
  const std::string collection = golden("collection.quern"), order = golden("order.quern"), log = golden("log.txt");
  const auto write = [&](CommandLine words) {
    words.insert(words.end(), {"-o", folder.path("now"), "--force"});
    const RunOutcome outcome = run_quern(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_status == 0);
    return folder.path("now");
  };
  const auto check_build = [&](CommandLine options, const std::string& name) {
    options.insert(options.begin(), {"build", collection});
    check_same(write(std::move(options)) + "/" + index_member, golden(name), FileKind::index);
    std::filesystem::remove_all(folder.path("now"));
  };
  check_same(write({"parse", golden("corpus.trecweb"), "--stemmer", "porter2", "--stopwords", "english"}), collection,
             FileKind::collection);
  check_same(write({"order", collection, "--by", "score"}), order, FileKind::order);
  check_same(write({"plan", golden("maskpfd.quern"), "-q", log, "--budget", "50%"}), golden("plan.quern"),
             FileKind::plan);
  std::filesystem::remove(folder.path("now"));
  check_build({"--order", order, "--quantize", "8"}, "maskpfd.quern");
  check_build({"--codec", "newpfd"}, "newpfd.quern");
  check_build({"--codec", "rpfd", "--block-size", "64"}, "rpfd.quern");
  check_build({"--codec", "rice", "--block-size", "256"}, "rice.quern");
  const RunOutcome without_count = run_quern({"build", collection, "--weights", "bm25f", "-o", folder.path("now")});
  CHECK(without_count.exit_status == 1);
  CHECK(contains(without_count.err, "collection.quern: does not say how many tokens are in titles"));
  for (const char* name : {"maskpfd", "newpfd", "rpfd", "rice"}) {
    const std::string index = golden(name + std::string(".quern"));
    INFO(index);
    CHECK(run_quern({"verify", index}).exit_status == 0);
    const RunOutcome run = run_quern({"query", index, "-q", log, "--quiet"});
    CHECK(run.exit_status == 0);
    CHECK(run.out == read_file(golden(name + std::string(".run"))));
  }
}

TEST_CASE("Manifests state the recursion only of rpfd, and the libraries that analyzed the terms", "[format][index]") {
  const auto manifest = [](const char* name) {
    return nlohmann::json::parse(IndexReader::open(golden(name)).container().manifest());
  };
  CHECK(manifest("rpfd.quern")["settings"].contains("recursion"));
  CHECK_FALSE(manifest("newpfd.quern")["settings"].contains("recursion"));
  CHECK_FALSE(manifest("rice.quern")["settings"].contains("recursion"));
  CHECK(manifest("maskpfd.quern").contains("libraries"));
}

TEST_CASE("An unknown feature, and one that contradicts the settings, are refused by name", "[format][golden]") {
  const IndexReader index = IndexReader::open(golden("maskpfd.quern"));
  const std::string manifest = index.container().manifest();
  const auto with_features = [&](const nlohmann::json& features) {
    nlohmann::json json = nlohmann::json::parse(manifest);
    json["features"] = features;
    return json.dump();
  };
  CHECK(IndexManifest::from_json(manifest, "i").quantize_bits == 8);
  CHECK_THROWS_AS(IndexManifest::from_json(with_features({"quantized impacts", "positions"}), "i"), UnsupportedVersion);
  CHECK_THROWS_WITH(IndexManifest::from_json(with_features({"quantized impacts", "positions"}), "i"),
                    Catch::Contains("i: has the feature 'positions'"));
  CHECK_THROWS_AS(IndexManifest::from_json(with_features(nlohmann::json::array()), "i"), CorruptFile);
  CHECK_THROWS_AS(IndexManifest::from_json(with_features({"quantized impacts", "shard"}), "i"), CorruptFile);
}

TEST_CASE("Indexes from before Simple16 was a feature call the codec maskpfd newpfd", "[format][golden]") {
  nlohmann::json json = nlohmann::json::parse(IndexReader::open(golden("newpfd.quern")).container().manifest());
  CHECK(json["features"] == nlohmann::json{"simple16"});
  CHECK(IndexManifest::from_json(json.dump(), "i").codec == "newpfd");
  json["features"] = nlohmann::json::array();
  const IndexManifest old = IndexManifest::from_json(json.dump(), "i");
  CHECK(old.codec == "maskpfd");
  CHECK(nlohmann::json::parse(old.to_json())["settings"]["codec"] == "maskpfd");
}

}  // namespace quern
