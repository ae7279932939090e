#include "catch.hpp"
#include "cli/checked_runs.hpp"
#include "corpus/temporary_folder.hpp"

/// --keep-fields, and --filter of query and intersect.
namespace quern {
namespace {

using namespace testing;

struct FilterFiles {
  TemporaryFolder folder;
  std::string corpus = folder.write(
      "c.jsonl",
      "{\"id\":\"a\",\"contents\":\"water mill\",\"lang\":\"en\",\"year\":1850}\n"
      "{\"id\":\"b\",\"contents\":\"water mill mill\",\"lang\":\"de\",\"year\":1900}\n"
      "{\"id\":\"c\",\"contents\":\"wind mill\",\"lang\":\"en\",\"year\":1920,\"url\":\"http://c.example/\"}\n"
      "{\"id\":\"d\",\"contents\":\"mill\"}\n");
  std::string index = folder.path("index");

  FilterFiles() { run_well({"index", corpus, "--keep-fields", "lang,year", "-o", index}); }
  std::string docnos(const std::string& filter, const std::string& algorithm = "auto") const {
    std::string names;
    for (const std::string& line :
         lines_of(run_well({"query", index, "--query", "mill", "-a", algorithm, "--filter", filter}).out))
      names += line.substr(line.find("Q0 ") + 3, 1);
    return names;
  }
};

}  // namespace

TEST_CASE("query --filter ranks the documents that pass", "[cli][filter]") {
  const FilterFiles files;
  CHECK(names_in(files.index) == CommandLine{"fields.quern", "index.quern"});
  for (const std::string algorithm : {"auto", "or", "maxscore", "wand", "bmw", "and", "and-or"}) {
    INFO(algorithm);
    CHECK(files.docnos("lang=en", algorithm) == "ac");
    CHECK(files.docnos("not has lang", algorithm) == "d");
    CHECK(files.docnos("year>=1900 or docno=d", algorithm) == "dbc");
    CHECK(files.docnos("url^=http://c", algorithm) == "c");
  }
  CHECK(files.docnos("@" + files.folder.write("list", "c\na\nnobody\n")) == "ac");
  const RunOutcome unknown =
      run_well({"query", files.index, "--query", "mill", "--filter", "@" + files.folder.path("list")});
  CHECK(contains(unknown.err, "1 of its 3 docnos are not in the index, for example 'nobody'"));
  CHECK(contains(run_well({"query", files.index, "--query", "mill", "--filter", "lang=xx"}).err,
                 "no document of the index passes"));
  const RunOutcome shared =
      run_well({"query", files.index, "--query", "mill", "--filter", "lang=en", "--device", "auto"});
  CHECK(shared.out == run_well({"query", files.index, "--query", "mill", "--filter", "lang=en"}).out);
  CHECK(lines_of(run_well({"intersect", files.index, "--query", "mill", "--filter", "lang=en"}).out).size() == 2);
  CHECK(run_well({"intersect", files.index, "--query", "mill", "--count", "--filter", "year<1910"})
            .out.ends_with("\t2\n"));
}

TEST_CASE("wrong filters are refused with their name and position", "[cli][filter]") {
  const FilterFiles files;
  const auto query = [&](const std::string& filter) {
    return CommandLine{"query", files.index, "--query", "mill", "--filter", filter};
  };
  check_failure(query("lang=en and"), {"filter, at its end", "expected a field name"});
  check_failure(query("size=3"), {"no field 'size'", "docno, url, lang, year"});
  check_failure(query("@" + files.folder.path("missing")), {"missing"});
  for (const char* device : {"gpu", "both"}) {
    CommandLine on_gpu = query("lang=en");
    on_gpu.insert(on_gpu.end(), {"--device", device, "--gpu-options", "strategy=partition"});
    const RunOutcome refused = run_quern(on_gpu);
    CHECK(refused.exit_status == 2);
    CHECK(contains(refused.err, "the strategy partition does not support filters; choose range"));
  }
  CHECK(run_quern({"query", files.index, "-q", "-", "--filter", "@-"}).exit_status == 2);
}

TEST_CASE("a filter names the file that is missing", "[cli][filter][reports]") {
  const FilterFiles files;
  std::filesystem::remove(files.index + "/fields.quern");
  const RunOutcome lost = run_quern({"query", files.index, "--query", "mill", "--filter", "year=1900"});
  CHECK(lost.exit_status == 1);
  CHECK(contains(lost.err, "no file fields.quern next to it"));
  CHECK(files.docnos("docno=a") == "a");
  const RunOutcome unnamed = run_quern({"query", files.index, "--query", "mill", "--filter", "@"});
  CHECK(unnamed.exit_status == 2);
  CHECK(contains(unnamed.err, "--filter @: the name of a list is missing"));
}

TEST_CASE("kept fields go through parse and build, verify and inspect, and settings", "[cli][filter]") {
  const FilterFiles files;
  const std::string collection = files.folder.path("collection"), built = files.folder.path("built");
  run_well({"parse", files.corpus, "--keep-fields", "lang,year", "-o", collection});
  run_well({"verify", collection});
  run_well({"build", collection, "-o", built});
  CHECK(read_file(built + "/fields.quern") == read_file(files.index + "/fields.quern"));
  CHECK(contains(run_well({"verify", built}).out, "fields.quern: field file"));
  run_well({"verify", built + "/fields.quern"});
  CHECK(run_well({"inspect", built + "/fields.quern", "--json"}).json()["fields"] == nlohmann::json{"lang", "year"});
  CHECK(run_well({"inspect", built, "--json"}).json()["kept_fields"] == nlohmann::json{"lang", "year"});
  const std::string config = run_well({"inspect", built, "--config"}).out;
  CHECK(contains(config, "\nkeep-fields = lang,year\n"));
  const std::string again = files.folder.path("again");
  run_well({"index", files.corpus, "--config", files.folder.write("conf", config), "-o", again});
  CHECK(read_file(again + "/fields.quern") == read_file(built + "/fields.quern"));
}

TEST_CASE("fields that can't be kept are refused, and documents with values that can't be kept are bad",
          "[cli][filter]") {
  const FilterFiles files;
  const auto index = [&](const std::string& names) {
    return CommandLine{"index", files.corpus, "--keep-fields", names, "--force", "-o", files.index};
  };
  check_failure(index("lang,lang"), {"'lang' can't be kept twice"});
  check_failure(index("title"), {"'title' can't be kept"});
  check_failure(index("and"), {"'and' can't be the name"});
  check_failure(index("two words"), {"'two words' can't be the name"});
  check_failure(index("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"), {"17 fields can't be kept"});
  check_failure({"index", files.folder.write("t.tsv", "1\tx\n"), "--format", "tsv", "--keep-fields", "lang", "-o",
                 files.folder.path("tsv")},
                {"--format tsv"});
  const std::string odd = files.folder.write("odd.jsonl",
                                             "{\"id\":\"a\",\"contents\":\"x\",\"lang\":[\"en\"]}\n"
                                             "{\"id\":\"b\",\"contents\":\"x\",\"lang\":\"" +
                                                 std::string(256, 'y') +
                                                 "\"}\n"
                                                 "{\"id\":\"c\",\"contents\":\"x\",\"lang\":\"" +
                                                 std::string(255, 'y') + "\"}\n");
  const RunOutcome outcome = run_well({"index", odd, "--keep-fields", "lang", "-o", files.folder.path("odd")});
  CHECK(contains(outcome.err, "its field 'lang' is an array or an object"));
  CHECK(contains(outcome.err, "odd.jsonl"));
}

}  // namespace quern
