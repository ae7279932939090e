#include "catch.hpp"
#include "cli/checked_runs.hpp"
#include "corpus/temporary_folder.hpp"

/// --fields of query.
namespace quern {
namespace {

using namespace testing;

struct FieldsIndex {
  TemporaryFolder folder;
  std::string corpus = folder.write(
      "c.jsonl",
      "{\"id\":\"a\",\"title\":\"Mills\",\"contents\":\"The milling of \\u00e4pples\\nby a mill.\",\"lang\":\"en\","
      "\"year\":1850.5,\"open\":true,\"url\":\"http://a.example/\"}\n"
      "{\"id\":\"b\",\"contents\":\"A windmill is no mill that a river turns.\"}\n");
  std::string index = folder.path("index"), plain = folder.path("plain");

  FieldsIndex() {
    run_well({"index", corpus, "--keep-fields", "lang,year,open", "--store-text", "--stemmer", "porter2", "-o", index});
    run_well({"index", corpus, "-o", plain});
  }
  CommandLine query(const std::string& fields, const std::string& format) const {
    return {"query", index, "--query", "mill \u00e4pples", "--fields", fields, "--output-format", format};
  }
};

}  // namespace

TEST_CASE("query --fields prints the requested fields, in their order", "[cli][fields]") {
  const FieldsIndex files;
  const auto json = run_well(files.query("year,open,lang,title,url,text", "json")).json();
  const auto& first = json["results"][0];
  CHECK(first["docno"] == "a");
  CHECK(first["lang"] == "en");
  CHECK(first["year"] == 1850.5);
  CHECK(first["open"] == true);
  CHECK(first["title"] == "Mills");
  CHECK(first["url"] == "http://a.example/");
  CHECK(first["text"]["snippet"] == "The milling of \u00e4pples by a mill.");
  // Positions are counted in characters.
  CHECK(first["text"]["matches"] == nlohmann::json{{4, 11}, {15, 21}, {27, 31}});
  const auto& second = json["results"][1];
  CHECK(second["lang"].is_null());
  CHECK(second["text"]["snippet"] == "A windmill is no mill that a river turns.");
  const auto two = run_well(files.query("lang,text", "json")).json();
  CHECK_FALSE(two["results"][0].contains("title"));
  CHECK_FALSE(two["results"][0].contains("url"));
  const std::string text = run_well(files.query("title,year,text", "text")).out;
  CHECK(contains(text, "  Mills\n"));
  CHECK(contains(text, " year: 1850.5\n"));
  CHECK(contains(text, " The milling of \u00e4pples by a mill.\n"));
  CHECK_FALSE(contains(text, "http://a.example/"));
  CHECK_FALSE(contains(text, "\x1b"));
}

TEST_CASE("query --fields works with results in several pieces", "[cli][fields]") {
  const TemporaryFolder folder;
  std::string corpus;
  for (int i = 0; i < 2500; ++i)
    corpus += "{\"id\":" + std::to_string(i) + ",\"contents\":\"mill of " + std::to_string(i) +
              "\",\"number\":" + std::to_string(i) + ",\"name\":\"n" + std::to_string(i) + "\"}\n";
  const std::string index = folder.path("index");
  run_well({"index", folder.write("c.jsonl", corpus), "--keep-fields", "number,name", "--store-text", "-o", index});
  const auto json = run_well({"query", index, "--query", "mill", "-k", "2500", "--fields", "name,text,number",
                              "--output-format", "json"})
                        .json();
  REQUIRE(json["results"].size() == 2500);
  for (const auto& result : json["results"]) {
    const std::string docno = result["docno"];
    REQUIRE(result["number"] == std::stoi(docno));
    REQUIRE(result["name"] == "n" + docno);
    REQUIRE(result["text"]["snippet"] == "mill of " + docno);
  }
}

TEST_CASE("query --fields refuses fields that it can't print, with the remedy", "[cli][fields]") {
  const FieldsIndex files;
  for (const std::string format : {"trec", "msmarco"}) {
    const RunOutcome refused = run_quern(files.query("lang", format));
    CHECK(refused.exit_status == 2);
    CHECK(contains(refused.err, "'" + format + "' can't show fields"));
  }
  check_failure(files.query("size", "json"), {"no field 'size'", "title, url, text, lang, year, open"});
  check_failure(files.query("lang,lang", "json"), {"'lang' twice"});
  CommandLine plain = files.query("text", "json");
  plain[1] = files.plain;
  check_failure(plain, {"--store-text"});
  plain = files.query("lang", "json");
  plain[1] = files.plain;
  check_failure(plain, {"no field 'lang'", "--keep-fields"});
}

}  // namespace quern
