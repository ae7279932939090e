#include <cmath>

#include "quern/formats/index_file.hpp"

#include "catch.hpp"
#include "cli/plan_files.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// The output of inspect, and verify, which finds every damaged byte.
namespace quern {
namespace {

using namespace testing;

struct MillFiles {
  TemporaryFolder folder;
  std::string collection = folder.path("collection"), order = folder.path("order"), index = folder.path("index"),
              plan = folder.path("plan");

  MillFiles() {
    REQUIRE(run_quern({"parse", folder.write("c.trecweb", small_trecweb), "-o", collection}).exit_status == 0);
    REQUIRE(run_quern({"order", collection, "--by", "url", "-o", order}).exit_status == 0);
    REQUIRE(run_quern({"build", collection, "--order", order, "-o", index}).exit_status == 0);
    write_plan(index, plan);
  }
};

}  // namespace

TEST_CASE("inspect gives an index's figures as JSON and as lines", "[cli][inspect]") {
  const MillFiles mill;
  const auto json = run_quern({"inspect", mill.index, "--json"}).json();
  CHECK(json["kind"] == "index");
  CHECK(json["documents"] == 4);
  CHECK(json["empty_documents"] == 1);
  CHECK(json["terms"] == 16);
  CHECK(json["postings"] == 20);
  CHECK(json["tokens"] == 28);
  CHECK(json["codec"] == "maskpfd");
  CHECK(json["block_size"] == 128);
  CHECK(json["order"] == "url");
  CHECK(json["file_bytes"] == std::filesystem::file_size(mill.index + "/index.quern"));
  CHECK(json["postings_bytes"].get<int>() > 0);
  CHECK(json["block_max_bytes"] == 0);
  CHECK(json["lists_in_one_block"] == 1);
  const double bits = json["docid_bits_per_posting"].get<double>() + json["freq_bits_per_posting"].get<double>();
  CHECK(std::abs(bits * 20 - json["postings_bytes"].get<double>() * 8) < 1e-6);
  CHECK(json["list_lengths"]["1"]["lists"].get<int>() + json["list_lengths"]["2"]["lists"].get<int>() == 16);
  CHECK(json["sections"].contains("postings"));
  const std::string lines = run_quern({"inspect", mill.index}).out;
  CHECK(contains(lines, "documents"));
  CHECK(contains(lines, "docid_bits_per_posting"));
}

TEST_CASE("inspect lists documents as lines or as JSON, and refuses their damaged figures", "[cli][inspect]") {
  const MillFiles mill;
  const CommandLine lines = lines_of(run_quern({"inspect", mill.index, "--docs"}).out);
  const CommandLine objects = lines_of(run_quern({"inspect", mill.index, "--docs", "--json"}).out);
  REQUIRE(lines.size() == 4);
  REQUIRE(objects.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto json = nlohmann::json::parse(objects[i]);
    CHECK(contains(lines[i], json["docno"].get<std::string>()));
    CHECK(contains(lines[i], "\t" + std::to_string(json["length"].get<int>()) + "\t"));
  }
  CHECK(run_quern({"inspect", mill.index, "--config", "mill"}).exit_status == 2);
  CHECK(run_quern({"inspect", mill.index, "--docs", "mill"}).exit_status == 2);
  // A byte of the lengths of four documents with 28 tokens.
  std::string bytes = read_file(mill.index + "/index.quern");
  const auto at = IndexReader::open(mill.index).container().find("lengths").offset;
  bytes[at] ^= 1;
  const RunOutcome damaged = run_quern({"inspect", mill.folder.write("damaged", bytes), "--docs"});
  CHECK(damaged.exit_status == 1);
  CHECK(contains(damaged.err, "lengths"));
  CHECK(damaged.out.empty());
}

TEST_CASE("inspect gives the figures of learned models", "[cli][inspect]") {
  const std::string models = std::string(QUERN_SOURCE_DIR) + "/tests/rankers/data/";
  const auto trees = run_quern({"inspect", models + "lightgbm-zeros-4.7.txt", "--json"}).json();
  CHECK(trees["kind"] == "model");
  CHECK(trees["format"] == "lightgbm");
  CHECK(trees["function"] == "trees");
  CHECK(trees["trees"] == 6);
  CHECK(trees["leaves"] == 42);
  CHECK(trees["most_leaves"] == 7);
  CHECK(trees["greatest_depth"].get<int>() >= 3);
  CHECK(trees["features"].back()["name"] == "host");
  CHECK(trees["features"].back()["number"].is_null());
  const std::string lines = run_quern({"inspect", models + "xgboost-dart-3.2.ubj"}).out;
  CHECK(contains(lines, "xgboost-ubjson"));
  CHECK(contains(lines, "number 9"));
  const TemporaryFolder folder;
  const std::string network = folder.write(
      "rank.ini",
      "[ranker]\nversion = 1\n[inputs]\nlinear = a\nlinear = 7\n[layer.1]\nweights = 1 2\nactivation = tanh\n");
  const auto figures = run_quern({"inspect", network, "--json"}).json();
  CHECK(figures["function"] == "network");
  CHECK(figures["linear"] == 2);
  CHECK(figures["layers"][0]["inputs"] == 2);
  CHECK(figures["layers"][0]["activation"] == "tanh");
  CHECK(contains(run_quern({"inspect", network}).out, "2 inputs, 1 outputs, activation tanh"));
  const std::string named = folder.write("named.txt", "0:[\xffname<1] yes=1,no=2\n1:leaf=1\n2:leaf=2\n");
  CHECK(run_quern({"inspect", named, "--json"}).json()["features"][0]["name"] == "\xEF\xBF\xBDname");
  CHECK(run_quern({"inspect", named}).exit_status == 0);
  const RunOutcome refused = run_quern({"inspect", network, "--docs"});
  CHECK(refused.exit_status == 1);
  CHECK(contains(refused.err, "is a learned model"));
  const RunOutcome damaged = run_quern({"inspect", folder.write("bad.txt", "## LambdaMART\n<ensemble>\n<tree>")});
  CHECK(damaged.exit_status == 1);
  CHECK(contains(damaged.err, "line 3"));
}

TEST_CASE("inspect gives the figures of collections and orders too", "[cli][inspect]") {
  const MillFiles mill;
  const auto collection = run_quern({"inspect", mill.collection, "--json"}).json();
  CHECK(collection["kind"] == "collection");
  CHECK(collection["documents"] == 4);
  CHECK(collection["links"] == 1);
  CHECK(collection["documents_without_url"] == 0);
  CHECK(collection["terms"] == 20);
  const auto order = run_quern({"inspect", mill.order, "--json"}).json();
  CHECK(order["kind"] == "order");
  CHECK(order["by"] == "url");
  CHECK(order["documents"] == 4);
  CHECK(contains(run_quern({"inspect", mill.order}).out, "url"));
}

TEST_CASE("inspect gives a plan's figures, and its lists", "[cli][inspect][plan]") {
  const MillFiles mill;
  const auto plan = run_quern({"inspect", mill.plan, "--json"}).json();
  CHECK(plan["kind"] == "plan");
  CHECK(plan["policy"] == "vfb");
  CHECK(plan["budget_bytes"] == 1000);
  CHECK(plan["max_admission"] == 0.5);
  CHECK(plan["cached_lists"] == 2);
  CHECK(plan["cached_blocks"] == 2);
  CHECK(plan["cached_bytes"] == 24);
  CHECK(plan["sections"]["bytes"] == 16);
  CHECK(plan["file_bytes"] == std::filesystem::file_size(mill.plan));
  const std::string lines = run_quern({"inspect", mill.plan}).out;
  CHECK(contains(lines, "policy"));
  CHECK(contains(lines, "cached_bytes"));
  CHECK(run_quern({"inspect", mill.plan, "--lists"}).out == "1\t1\t8\n3\t1\t16\n");
  for (const CommandLine& wrong :
       {CommandLine{"inspect", mill.index, "--lists"}, CommandLine{"inspect", mill.order, "--lists"},
        CommandLine{"inspect", mill.plan, "--docs"}, CommandLine{"inspect", mill.plan, "mill"}}) {
    const RunOutcome outcome = run_quern(wrong);
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, " needs a"));
  }
}

TEST_CASE("inspect streams posting lists, as lines or as JSON", "[cli][inspect]") {
  const MillFiles mill;
  const RunOutcome lists = run_quern({"inspect", mill.index, "mill", "stone"});
  CHECK(lists.out ==
        "# mill df 2 cf 3 blocks 1\n# docID\tfrequency\tdocno\n0\t2\tM-2\n3\t1\tM-1\n# stone df 1 cf 1 blocks 1\n# "
        "docID\tfrequency\tdocno\n2\t1\tM-3\n");
  const auto json = run_quern({"inspect", mill.index, "mill", "--json"}).json();
  CHECK(json["term"] == "mill");
  CHECK(json["df"] == 2);
  CHECK(json["cf"] == 3);
  CHECK(json["postings"] == nlohmann::json{{0, 2}, {3, 1}});
  const RunOutcome unknown = run_quern({"inspect", mill.index, "Mill"});
  CHECK(unknown.exit_status == 1);
  CHECK(contains(unknown.err, "no term 'Mill'"));
}

TEST_CASE("inspect shows quantized impacts if an index has them", "[cli][inspect][quantized]") {
  const MillFiles mill;
  const std::string index = mill.folder.path("quantized");
  REQUIRE(run_quern({"build", mill.collection, "--order", mill.order, "--quantize", "8", "-o", index}).exit_status ==
          0);
  const auto json = run_quern({"inspect", index, "--json"}).json();
  CHECK(json["impact_bits"] == 8);
  CHECK(json["impact_bytes"] == 0);  // all lists are short
  const auto plain = run_quern({"inspect", mill.index, "--json"}).json();
  CHECK(plain["impact_bits"] == 0);
  CHECK(plain["impact_bytes"] == 0);
  const auto list = run_quern({"inspect", index, "mill", "--json"}).json();
  REQUIRE(list["postings"].size() == 2);
  const int twice = list["postings"][0][2], once = list["postings"][1][2];
  CHECK(once > 0);
  CHECK(twice > once);
  CHECK(run_quern({"inspect", index, "mill"}).out ==
        "# mill df 2 cf 3 blocks 1\n# docID\tfrequency\tdocno\timpact\n0\t2\tM-2\t" + std::to_string(twice) +
            "\n3\t1\tM-1\t" + std::to_string(once) + "\n");
  CHECK(run_quern({"verify", index}).exit_status == 0);
  CHECK(contains(run_quern({"inspect", index, "--config"}).out, "\nquantize = 8\n"));
  CHECK_FALSE(contains(run_quern({"inspect", mill.index, "--config"}).out, "quantize"));
}

TEST_CASE("inspect --docs prints docID, docno, URL, length, PageRank and global score in docID order",
          "[cli][inspect]") {
  const MillFiles mill;
  const std::string order = mill.folder.path("ranked.order"), index = mill.folder.path("ranked");
  REQUIRE(run_quern({"order", mill.collection, "--by", "url", "--pagerank", "links", "-o", order}).exit_status == 0);
  REQUIRE(run_quern({"build", mill.collection, "--order", order, "-o", index}).exit_status == 0);
  const RunOutcome documents = run_quern({"inspect", index, "--docs"});
  CHECK(lines_of(documents.out) == CommandLine{"0\tM-2\thttp://a.example/wind\t9\t0.75\t0",
                                               "1\tM-4\thttp://www.mill.example/empty\t0\t0.75\t0",
                                               "2\tM-3\thttp://www.mill.example/stone\t9\t1\t0",
                                               "3\tM-1\thttp://www.mill.example/wheel\t10\t0.75\t0"});
}

TEST_CASE("verify accepts undamaged files and names what it checked", "[cli][verify]") {
  const MillFiles mill;
  const RunOutcome outcome = run_quern({"verify", mill.collection, mill.order, mill.index, mill.plan});
  CHECK(outcome.exit_status == 0);
  const CommandLine lines = lines_of(outcome.out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].starts_with(mill.collection + ": collection, "));
  CHECK(lines[1].starts_with(mill.order + ": order, "));
  CHECK(lines[2].starts_with(mill.index + ": index, "));
  CHECK(lines[3].starts_with(mill.plan + ": plan, "));
  for (const std::string& line : lines) CHECK(line.ends_with(", sound"));
}

TEST_CASE("verify finds any damaged byte, and names file and section", "[cli][verify]") {
  const MillFiles mill;
  for (const std::string& file : {mill.collection, mill.order, mill.index + "/index.quern", mill.plan}) {
    const std::string sound = read_file(file);
    int in_sections = 0;
    const std::size_t step = sound.size() / (sanitized ? 8 : 60) | 1;
    for (std::size_t at = 5; at < sound.size(); at += step) {
      INFO(file << ", byte " << at);
      std::string damaged = sound;
      damaged[at] ^= 0x10;
      const std::string path = mill.folder.write("damaged", damaged);
      const RunOutcome outcome = run_quern({"verify", path});
      CHECK(outcome.exit_status == 1);
      CHECK(outcome.out.empty());
      CHECK(outcome.err.starts_with("quern: error: " + path + ": "));
      in_sections += contains(outcome.err, ": section '");
    }
    CHECK(in_sections > 2);
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{7}, std::size_t{63}, std::size_t{64}, sound.size() / 2, sound.size() - 1}) {
      INFO(file << " cut to " << size);
      CHECK(run_quern({"verify", mill.folder.write("damaged", sound.substr(0, size))}).exit_status == 1);
    }
    CHECK(run_quern({"verify", mill.folder.write("damaged", sound + "x")}).exit_status == 1);
  }
  CHECK(run_quern({"verify", mill.folder.path("c.trecweb")}).exit_status == 1);
}

}  // namespace quern
