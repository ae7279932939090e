#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>

#include "catch.hpp"
#include "cli/run_quern.hpp"

/// scripts/papers: the figures and tables of the papers, measured on the sample and drawn.
namespace quern {
namespace {

using namespace testing;

class Papers {
 public:
  /// The exit status; `printed()` is the output.
  int run(const std::string& arguments) const {
    const std::string command = "/usr/bin/python3 " QUERN_SOURCE_DIR "/scripts/papers --quern " QUERN_EXECUTABLE
                                " -o " +
                                output() + " " + arguments + " > " + folder_.path("printed") + " 2>&1";
    return WEXITSTATUS(std::system(command.c_str()));
  }
  std::string printed() const { return read_file(folder_.path("printed")); }
  std::string output() const { return folder_.path("papers"); }
  bool has(const std::string& name) const { return std::filesystem::exists(output() + "/" + name); }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("papers measures and draws the sample, and skips by name what needs a GPU", "[cli][measure]") {
  const Papers papers;
  const int status = papers.run("--small --measure");
  INFO(papers.printed());
  REQUIRE(status == 0);
  CHECK(contains(papers.printed(), "| paper: CPU | 310.6 | 1165 |"));
  for (const char* id :
       {"ding-3", "ding-t1", "ding-7", "wang-3", "wang-7", "huang-3", "huang-4", "wu-6", "tadros-5.5"}) {
    INFO(id);
    const auto json = nlohmann::json::parse(read_file(papers.output() + "/" + id + ".json"));
    CHECK(json["id"] == id);
    for (const auto& panel : json["panels"]) CHECK_FALSE(panel["series"].empty());
  }
  if (contains(run_quern({"--version"}).out, "without CUDA")) {
    CHECK(contains(papers.printed(), "papers: wang-8: skipped, needs a GPU\n"));
    CHECK_FALSE(papers.has("wang-8.json"));
  }
  if (std::system("/usr/bin/python3 -c 'import matplotlib' 2>/dev/null") != 0) {
    WARN("skipped: drawing, no matplotlib");
    CHECK(papers.run("--draw") == 1);
    CHECK(contains(papers.printed(), "matplotlib is missing"));
    return;
  }
  REQUIRE(papers.run("--draw") == 0);
  CHECK(contains(read_file(papers.output() + "/ding-t1.svg"), "paper: GPU"));
  CHECK(read_file(papers.output() + "/huang-3.png").starts_with("\x89PNG"));
}

TEST_CASE("papers lists its figures, and refuses others", "[cli][measure]") {
  const Papers papers;
  REQUIRE(papers.run("--list") == 0);
  const std::string list = papers.printed();
  CHECK(std::count(list.begin(), list.end(), '\n') == 1 + 7 + 8 + 8 + 8 + 7);
  for (const char* id : {"ding-t3", "wang-10", "huang-t1", "wu-t2", "tadros-5.7"}) CHECK(contains(list, id));
  CHECK(papers.run("ding-5") == 2);
  CHECK(contains(papers.printed(), "ding-5: not in --list"));
  CHECK(papers.run("--df df.tsv") == 2);
  CHECK(contains(papers.printed(), "--df-docs"));
  CHECK(papers.run("--measure --quern nowhere") == 1);
  CHECK(contains(papers.printed(),
                 "papers: error: nowhere: No such file or directory; name the executable with --quern"));
}

}  // namespace quern
