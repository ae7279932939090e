#include <fstream>

#include "quern/api/quern.hpp"

#include "api/failing.hpp"
#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

/// Files of queries in the library's interface.
namespace quern {
namespace {

using namespace testing;
using api::ErrorCode;

std::string written(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
  return path;
}

TEST_CASE("a program reads the queries of a file, as text or as weighted terms", "[api]") {
  const TemporaryFolder folder;
  const std::string topics = written(folder.path("topics"), "7\twater mills\n7\tbran\n");
  const std::vector<api::FileQuery> read = api::read_queries(topics);
  REQUIRE(read.size() == 2);
  CHECK((read[0].id == "7" && read[0].text == "water mills" && read[0].terms.empty()));
  CHECK((read[1].id == "7" && read[1].text == "bran"));
  CHECK(api::read_queries(topics, {"lines", {}, {}}).front().text == "7\twater mills");

  const std::string vectors = written(folder.path("vectors"), "{\"key\": 7, \"w\": {\"mill\": 2, \"bran\": 0.5}}\n");
  const std::vector<api::FileQuery> weighted = api::read_queries(vectors, {"vector", "key", {"w"}});
  REQUIRE(weighted.size() == 1);
  CHECK((weighted[0].id == "7" && weighted[0].text.empty()));
  CHECK(weighted[0].terms == std::vector<std::pair<std::string, double>>{{"mill", 2}, {"bran", 0.5}});
}

TEST_CASE("a file of queries that can't be read is an error that names the option", "[api]") {
  const TemporaryFolder folder;
  const std::string lines = written(folder.path("lines"), "301 water mills\n302 bran\n");
  CHECK(code_of([&] { api::read_queries(folder.path("missing")); }) == ErrorCode::io);
  CHECK(code_of([&] { api::read_queries(lines, {"csv", {}, {}}); }) == ErrorCode::invalid_argument);
  CHECK(code_of([&] { api::read_queries(lines, {"tsv", {}, {}}); }) == ErrorCode::corrupt_file);
  const api::Error undecided = error_of([&] { api::read_queries(lines); });
  CHECK((undecided.code() == ErrorCode::invalid_argument && undecided.option() == "queries_format"));
}

}  // namespace
}  // namespace quern
