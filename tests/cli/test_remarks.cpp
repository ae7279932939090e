#include <sys/stat.h>

#include "quern/search/query_stream.hpp"
#include "quern/search/query_terms.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"

/// Remarks about ignored input and automatic decisions, and choices of files.
namespace quern {
namespace {

using namespace testing;

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("phrases, operators and fields are distinguished from words", "[query][remarks]") {
  struct Case {
    const char* text;
    bool phrase, operators, field, marks = false;
  };
  for (const Case& known : {Case{"\"water mill\"", true, false, false},
                            Case{"water AND mill", false, true, false},
                            Case{"mill NOT wind", false, true, false},
                            Case{"title:mill", false, false, true},
                            Case{"a \"b c\" OR url:d", true, true, true},
                            Case{"WAR AND PEACE", false, false, false},
                            Case{"war and peace", false, false, false},
                            Case{"http://a.example/", false, false, false},
                            Case{"at 12:30", false, false, false},
                            Case{"a 19\" wheel", false, false, false},
                            Case{"\"\"", false, false, false},
                            Case{"mills: a history", false, false, false},
                            Case{"water -wind", false, false, false, true},
                            Case{"+water mill", false, false, false, true},
                            Case{"mil*", false, false, false, true},
                            Case{"mill~", false, false, false, true},
                            Case{"mill^2 wind", false, false, false, true},
                            Case{"a - b", false, false, false},
                            Case{"well-known -5 c++ 2*3", false, false, false},
                            Case{"", false, false, false}}) {
    INFO(known.text);
    const QuerySyntax syntax = syntax_in(known.text);
    CHECK(syntax.phrase == known.phrase);
    CHECK(syntax.operators == known.operators);
    CHECK(syntax.field == known.field);
    CHECK(syntax.marks == known.marks);
  }
}

TEST_CASE("ignored parts of queries and decisions of auto are reported once on standard error", "[cli][remarks]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl);
  const RunOutcome built = run_quern({"index", corpus, "-o", index});
  REQUIRE(built.exit_status == 0);
  CHECK(contains(built.err, "of records (jsonl): "));
  CHECK(contains(built.err, " terms with those of URLs and links, "));
  const std::string log =
      folder.write("log.txt", "\"water mill\"\n\"wind mill\"\nwater AND mill\nwind OR mill\ntitle:mill\nurl:mill\n");
  for (const CommandLine& command :
       {CommandLine{"query", index, "-q", log}, CommandLine{"intersect", index, "-q", log},
        CommandLine{"plan", index, "-q", log, "--budget", "50%", "-o", folder.path("plan")},
        CommandLine{"simulate", "cache", index, "-q", log, "--plan", folder.path("plan")},
        CommandLine{"bench", "query", index, "-q", log, "--repeats", "1"},
        CommandLine{"bench", "intersect", index, "-q", log, "--repeats", "1"},
        CommandLine{"bench", "lists", index, "-q", log},
        CommandLine{"synth", "--df", index, "--docs", "20", "-q", log, "-o", folder.path("synthetic")}}) {
    const RunOutcome outcome = run_quern(command);
    INFO(command.front() << ": " << outcome.err);
    CHECK(outcome.exit_status == 0);
    CHECK(times(outcome.err, "note: words in quotation marks") == 1);
    CHECK(times(outcome.err, "note: AND, OR and NOT") == 1);
    CHECK(times(outcome.err, "note: the field's name") == 1);
    CHECK(times(outcome.err, "log.txt: read as lines") == 1);
  }
  CHECK_FALSE(contains(run_quern({"query", index, "-q", log, "--quiet"}).err, "note"));
  CHECK_FALSE(contains(run_quern({"bench", "lists", index, "-q", log, "--quiet"}).err, "note"));
  CHECK_FALSE(contains(run_quern({"query", index, "-q", log, "--queries-format", "lines"}).err, "log.txt: read as"));
}

TEST_CASE("a repeated id is reported once, by commands whose results show it", "[cli][remarks]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  REQUIRE(run_quern({"index", folder.write("corpus.jsonl", small_jsonl), "-o", index}).exit_status == 0);
  const std::string log = folder.write("log.tsv", "7\tmill\n8\twater\n9\tmill\n7\twind\n8\tmill\n8\tmill\n");
  const std::string different = folder.write("other.tsv", "7\tmill\n8\tmill\n07\tmill\n");
  for (const CommandLine& command :
       {CommandLine{"query", index}, CommandLine{"query", index, "--queries-format", "tsv", "--batch-wait", "1"},
        CommandLine{"intersect", index}}) {
    const auto remarks = [&](const std::string& file, const CommandLine& options) {
      CommandLine words = command;
      words.insert(words.end(), {"-q", file});
      words.insert(words.end(), options.begin(), options.end());
      const RunOutcome outcome = run_quern(words);
      CHECK(outcome.exit_status == 0);
      return outcome.err;
    };
    INFO(command.front());
    CHECK(times(remarks(log, {}), "note: more than one query has the id") == 1);
    CHECK(contains(remarks(log, {}), "more than one query has the id 7;"));
    CHECK_FALSE(contains(remarks(different, {}), "more than one query"));
    CHECK_FALSE(contains(remarks(log, {"--quiet"}), "more than one query"));
  }
}

TEST_CASE("queries none of whose terms is in the index are reported once", "[cli][remarks]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  REQUIRE(run_quern({"index", folder.write("corpus.jsonl", small_jsonl), "-o", index}).exit_status == 0);
  const std::string log = folder.write("log", "mill\nzzone zztwo\nzzthree mill\nzzfour\n.\n");
  for (const CommandLine& command :
       {CommandLine{"query", index}, CommandLine{"query", index, "-a", "and", "--batch-wait", "1"},
        CommandLine{"intersect", index}}) {
    INFO(command.front() << " " << command.size());
    const auto remarks = [&](const CommandLine& options) {
      CommandLine words = command;
      words.insert(words.end(), {"--queries-format", "lines"});
      words.insert(words.end(), options.begin(), options.end());
      const RunOutcome outcome = run_quern(words);
      CHECK(outcome.exit_status == 0);
      return outcome.err;
    };
    CHECK(times(remarks({"-q", log}), "the index has no term of 3 queries; the first is 2: zzone zztwo\n") == 1);
    CHECK_FALSE(contains(remarks({"-q", log, "--quiet"}), "has no term"));
    const std::string known = folder.write("known", "mill\nzzthree mill\n");
    CHECK_FALSE(contains(remarks({"-q", known}), "has no term"));
  }
  CHECK(contains(run_quern({"query", index, "--query", "zzone"}).err, "the index has no term of the query: zzone\n"));
}

TEST_CASE("ids are compared with the previous one and with the first ones, without limit", "[query][remarks]") {
  RepeatedIds ids;
  const auto id = [](std::size_t number) { return "q" + std::to_string(number); };
  for (std::size_t i = 0; i < 2 * RepeatedIds::max_ids; ++i) REQUIRE_FALSE(ids.is_repeated(id(i)));
  for (std::size_t i = 0; i < RepeatedIds::max_ids; ++i) REQUIRE(ids.is_repeated(id(i)));
  CHECK_FALSE(ids.is_repeated(id(RepeatedIds::max_ids)));
  CHECK(ids.is_repeated(id(RepeatedIds::max_ids)));
  CHECK_FALSE(ids.is_repeated(id(RepeatedIds::max_ids + 1)));
}

TEST_CASE("a pipe in a corpus folder is reported as skipped", "[cli][remarks]") {
  const TemporaryFolder folder;
  folder.write("corpus/a.jsonl", small_jsonl);
  const std::string pipe = folder.path("corpus/pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const RunOutcome outcome = run_quern({"parse", folder.path("corpus"), "-o", folder.path("out"), "--json"});
  CHECK(outcome.exit_status == 0);
  CHECK(times(outcome.err, "skipped " + pipe) == 1);
  CHECK(outcome.json()["num_passed_over"] == 1);
  CHECK(outcome.json()["passed_over"] == CommandLine{pipe});
}

TEST_CASE("Records are in the charset that their file declares, and the first that isn't is named",
          "[cli][remarks][reports]") {
  const TemporaryFolder folder;
  const auto record = [](const std::string& docno) {
    return "<DOC><DOCNO>" + docno + "</DOCNO><TEXT>M\xFChle</TEXT></DOC>\n";
  };
  const std::string declaration = "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>\n";
  folder.write("corpus/a.trec", declaration + record("declared") + record("declared2"));
  const std::string index = folder.path("index"),
                    bare = folder.write("corpus/b.trec", record("bare") + record("bare2"));
  const RunOutcome outcome = run_quern({"index", folder.path("corpus"), "-o", index});
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  CHECK(times(outcome.err, "replaced 2 invalid UTF-8 sequences, the first in " + bare + ": byte 0: document 'bare'") ==
        1);
  CHECK(times(outcome.err, "iconv") == 1);
  const std::string found = run_quern({"inspect", index, "m\u00fchle"}).out;
  CHECK((times(found, "declared") == 2 && times(found, "bare") == 0));
}

TEST_CASE("the options --include and --exclude choose the files of folders", "[cli][remarks]") {
  const TemporaryFolder folder;
  folder.write("corpus/a.jsonl", "{\"id\":\"a\",\"contents\":\"mill\"}\n");
  folder.write("corpus/b.txt", "{\"id\":\"b\",\"contents\":\"mill\"}\n");
  folder.write("corpus/old/c.jsonl", "{\"id\":\"c\",\"contents\":\"mill\"}\n");
  folder.write("corpus/old/new/d.jsonl", "{\"id\":\"d\",\"contents\":\"mill\"}\n");
  const auto indexed = [&](const CommandLine& options) {
    CommandLine words = {"index", folder.path("corpus"), "-o", folder.path("index"), "--force", "--order", "natural"};
    words.insert(words.end(), options.begin(), options.end());
    const RunOutcome outcome = run_quern(words);
    INFO(outcome.err);
    REQUIRE(outcome.exit_status == 0);
    std::string docnos;
    for (const std::string& line : lines_of(run_quern({"inspect", folder.path("index"), "mill"}).out))
      for (const char* docno : {"a", "b", "c", "d"})
        if (line.ends_with(docno)) docnos += docno;
    return docnos;
  };
  CHECK(indexed({}) == "abcd");
  CHECK(indexed({"--include", "*.jsonl"}) == "acd");
  CHECK(indexed({"--include", "a*", "--include", "*.txt"}) == "ab");
  CHECK(indexed({"--exclude", "old"}) == "ab");
  CHECK(indexed({"--exclude", "old/new"}) == "abc");
  CHECK(indexed({"--include", "*.jsonl", "--exclude", "old/*.jsonl"}) == "a");
  const RunOutcome none = run_quern({"parse", folder.path("corpus"), "--include", "*.warc", "-o", folder.path("x")});
  CHECK(none.exit_status == 1);
  CHECK(contains(none.err, "--include and --exclude exclude every file"));
}

}  // namespace quern
