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

/// Files of version 2, which this program must read with the same results. It must write collection and order again,
/// byte for byte, and the indexes as those of version 4 are. tests/formats/version2/README.md has the commands that
/// made them.
namespace quern {
namespace {

using namespace testing;

std::string version2(const std::string& name) {
  return std::string(QUERN_SOURCE_DIR) + "/tests/formats/version2/" + name;
}
std::string version4(const std::string& name) {
  return std::string(QUERN_SOURCE_DIR) + "/tests/formats/version4/" + name;
}

/// All that a container holds, as far as it must be the same: its sections, and its manifest without the versions of
/// program and libraries.
struct Settled {
  std::map<std::string, Bytes> sections;
  nlohmann::json manifest;
};

Settled settled(const std::string& path, FileKind kind, FormatVersions versions) {
  const ContainerReader container = ContainerReader::open(path, kind, versions);
  container.verify(default_resources());
  Settled settled;
  settled.manifest = nlohmann::json::parse(container.manifest());
  // What zstd compresses counts with the version of zstd that the file was made with.
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
  // Hashes of the input have been made in another way since.
  for (const char* hash : {"input_hash", "collection_hash"}) settled.manifest.erase(hash);
  return settled;
}

void check_same(const std::string& now, const std::string& before, FileKind kind, FormatVersions versions) {
  INFO(before);
  const Settled written = settled(now, kind, versions), golden = settled(before, kind, versions);
  CHECK(written.manifest == golden.manifest);
  for (const auto& [name, bytes] : golden.sections) {
    INFO(name);
    const auto same = written.sections.find(name);
    REQUIRE(same != written.sections.end());
    CHECK(same->second == bytes);
  }
}

}  // namespace

TEST_CASE("Files of versions 2 and 4 are written again with the same bytes, and read with the same results",
          "[format][version2]") {
  const TemporaryFolder folder;
  const std::string collection = version2("collection.quern"), order = version2("order.quern");
  const std::string log = version2("log.txt");
  const auto write = [&](CommandLine words) {
    words.insert(words.end(), {"-o", folder.path("now"), "--force"});
    const RunOutcome outcome = run_quern(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_status == 0);
    return folder.path("now");
  };
  const auto write_index = [&](CommandLine words) {
    const std::string written = write(std::move(words)) + "/" + index_member;
    const std::string member = folder.path("index");
    std::filesystem::copy_file(written, member, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::remove_all(folder.path("now"));
    return member;
  };
  check_same(write({"parse", version2("corpus.trecweb"), "--stemmer", "porter2", "--stopwords", "english"}), collection,
             FileKind::collection, collection_version);
  check_same(write({"order", collection, "--by", "score"}), order, FileKind::order, order_version);
  std::filesystem::remove(folder.path("now"));
  check_same(write_index({"build", collection, "--order", order, "--quantize", "8"}), version4("newpfd.quern"),
             FileKind::index, index_version);
  // When these files were made, every order of pages with links had PageRank.
  const std::string natural = folder.path("natural");
  std::filesystem::rename(write({"order", collection, "--pagerank", "links"}), natural);
  const CommandLine build = {"build", collection, "--order", natural};
  const auto build_with = [&](CommandLine codec) {
    codec.insert(codec.begin(), build.begin(), build.end());
    return write_index(std::move(codec));
  };
  check_same(build_with({"--codec", "rpfd", "--block-size", "64"}), version4("rpfd.quern"), FileKind::index,
             index_version);
  check_same(build_with({"--codec", "rice", "--block-size", "256"}), version4("rice.quern"), FileKind::index,
             index_version);
  for (const char* name : {"newpfd", "rpfd", "rice"}) {
    INFO(name);
    const std::string file = name + std::string(".quern");
    for (const std::string& index : {version2(file), version4(file)}) {
      CHECK(run_quern({"verify", index}).exit_status == 0);
      const RunOutcome run = run_quern({"query", index, "-q", log, "--quiet"});
      CHECK(run.exit_status == 0);
      CHECK(run.out == read_file(version2(name + std::string(".run"))));
    }
  }
}

TEST_CASE("A plan of version 1 is read with the settings that it does not record, and simulated",
          "[format][plan][version2]") {
  const std::string path = version2("plan.quern"), index = version2("newpfd.quern");
  CHECK(run_quern({"verify", path}).exit_status == 0);
  const CachePlan plan = PlanReader::open(path).load_for(IndexReader::open(index));
  CHECK(plan.manifest.policy == "vfb");
  CHECK(plan.manifest.budget_bytes == 16851);
  CHECK(plan.manifest.idf == "lucene");
  CHECK(plan.manifest.scores == "exact");
  CHECK(plan.manifest.log_hash.empty());
  CHECK(plan.manifest.cached_bytes == 16829);
  CHECK(plan.lists.size() == 500);
  CHECK_NOTHROW(ContainerReader::open(path, FileKind::plan, {.written = 1, .oldest_read = 1}));
  CHECK(run_quern({"inspect", path, "--json"}).json()["scores"] == "exact");
  const RunOutcome simulated =
      run_quern({"simulate", "cache", index, "--plan", path, "-q", version2("log.txt"), "--json"});
  REQUIRE(simulated.exit_status == 0);
  CHECK(simulated.json()["queries"] == 4);
  CHECK(simulated.json()["cached_bytes"] == 16829);
}

}  // namespace quern
