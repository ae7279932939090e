#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/compressing.hpp"

/// Corpora that can't be read, or have unexpected contents.
namespace quern {
namespace {

using namespace testing;

/// Checks that the run failed with status 1, one line that contains `name`, and no leftover files.
void check_failure(const RunOutcome& outcome, const std::string& name) {
  INFO(outcome.err);
  CHECK(outcome.exit_status == 1);
  CHECK(contains(outcome.err, "quern: error: "));
  CHECK(contains(outcome.err, name));
  CHECK(outcome.out.empty());
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  all.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string web_page(const std::string& docno, const std::string& html) {
  return "<DOC>\n<DOCNO>" + docno + "</DOCNO>\n<DOCHDR>\nhttp://a.example/" + docno + "\n</DOCHDR>\n" + html +
         "\n</DOC>\n";
}

}  // namespace

TEST_CASE("a missing or unknown corpus is an error that names the file and leaves no files", "[cli]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path("empty"));
  std::string noise;
  for (int i = 0; i < 5000; ++i) noise += static_cast<char>(i * 2654435761u >> 13);
  const std::string gzip_text = gzipped(small_jsonl);
  const std::vector<std::string> paths = {
      folder.path("typo.warc.gz"),          folder.path("empty"),
      folder.write("noise.bin", noise),     folder.write("blank.jsonl", ""),
      folder.write("spaces.jsonl", " \n"),  folder.write("cut.jsonl.gz", gzip_text.substr(0, gzip_text.size() - 12)),
      folder.write("no_docs.jsonl", "{}\n")};
  const CommandLine before = names_in(folder.path(""));
  for (const std::string& path : paths) {
    for (const char* command : {"parse", "index"}) {
      INFO("quern " << command << " " << path);
      check_failure(run_quern({command, path, "-o", folder.path("out")}), path);
      CHECK(names_in(folder.path("")) == before);
    }
  }
  Surroundings nothing;
  check_failure(run_quern({"index", "-", "-o", folder.path("out")}, nothing), "standard input");
  CHECK(names_in(folder.path("")) == before);
}

TEST_CASE("a document larger than --max-document is skipped and reported with its offset", "[cli]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl + "{\"id\":\"huge\",\"contents\":\"" +
                                                              repeated("mill ", 600000) + "\"}\n" + small_jsonl);
  const RunOutcome outcome =
      run_quern({"index", corpus, "-o", folder.path("out"), "--max-document", "1M", "--json", "--memory", "64M"});
  CHECK(outcome.exit_status == 0);
  const auto parsed = outcome.json()["parse"];
  CHECK(parsed["indexed"] == 6);
  CHECK(parsed["bad"] == 1);
  const std::string bad = parsed["bad_documents"][0];
  CHECK(contains(bad, corpus + ": byte " + std::to_string(small_jsonl.size())));
  CHECK(contains(outcome.err, bad));

  const RunOutcome allowed = run_quern({"index", corpus, "-o", folder.path("out2"), "--json"});
  CHECK(allowed.json()["parse"]["indexed"] == 7);
}

TEST_CASE("a --max-document that no reader supports is wrong usage", "[cli]") {
  for (const char* size : {"0", "5G"}) {
    const RunOutcome outcome = run_quern({"parse", "nowhere", "-o", "nowhere/out", "--max-document", size});
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, "--max-document"));
  }
}

TEST_CASE("a file without queries is reported as empty, whatever its format", "[cli]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index");
  REQUIRE(run_quern({"index", folder.write("c.jsonl", small_jsonl), "-o", index}).exit_status == 0);
  for (const char* blank : {"", " \n\n"}) {
    const std::string log = folder.write("log", blank);
    const RunOutcome outcome = run_quern({"query", index, "-q", log});
    check_failure(outcome, log + ": contains no queries: it is empty");
    CHECK_FALSE(contains(outcome.err, "jsonl"));
  }
}

TEST_CASE("a document of 200 MB on standard input costs neither much time nor memory", "[cli]") {
  const TemporaryFolder folder;
  const std::string megabyte = repeated("mill and wheel, ", 1 << 16);
  {
    RunningQuern run({"index", "-", "-o", folder.path("out"), "--format", "trectext", "--memory", "64M"});
    run.write("<DOC><DOCNO>a</DOCNO><TEXT>water</TEXT></DOC>\n<DOC><DOCNO>huge</DOCNO><TEXT>");
    for (int i = 0; i < 200; ++i) run.write(megabyte);
    run.write("</TEXT></DOC>\n<DOC><DOCNO>b</DOCNO><TEXT>water</TEXT></DOC>\n");
    CHECK(run.finish() == 0);
    CHECK(run.peak_memory_bytes() < (sanitized ? 1 << 30 : 128 << 20));
  }
  CHECK(run_quern({"inspect", folder.path("out"), "--json"}).json()["documents"] == 2);
}

TEST_CASE("a docno of 10,000 characters is kept whole", "[cli]") {
  const TemporaryFolder folder;
  const std::string docno = repeated("ab/", 3333) + "z";
  const std::string corpus = folder.write(
      "corpus", "<DOC><DOCNO>" + docno + "</DOCNO><TEXT>water</TEXT></DOC>\n" + web_page("B", "water mill"));
  REQUIRE(run_quern({"index", corpus, "--format", "trectext", "-o", folder.path("out")}).exit_status == 0);
  CHECK(run_quern({"query", folder.path("out"), "--query", "water"}).out.starts_with("1 Q0 " + docno + " 1 "));
  CHECK(contains(run_quern({"inspect", folder.path("out"), "--docs"}).out, "0\t" + docno + "\t"));
  CHECK(run_quern({"verify", folder.path("out")}).exit_status == 0);
}

TEST_CASE("duplicate docnos are counted, and refused on request", "[cli]") {
  const TemporaryFolder folder;
  const std::string corpus =
      folder.write("corpus.jsonl", small_jsonl + small_jsonl + "{\"id\":\"d\",\"text\":\"x\"}\n");
  const RunOutcome kept = run_quern({"index", corpus, "-o", folder.path("out"), "--json"});
  CHECK(kept.exit_status == 0);
  CHECK(kept.json()["parse"]["duplicates"] == 3);
  CHECK(kept.json()["parse"]["indexed"] == 7);
  CHECK(contains(kept.err, "3 documents with a docno that occurred before"));
  const RunOutcome refused = run_quern({"index", corpus, "-o", folder.path("out2"), "--duplicates", "refuse"});
  check_failure(refused, corpus);
  CHECK(contains(refused.err, "'a'"));
  CHECK(names_in(folder.path("")) == CommandLine{"corpus.jsonl", "out"});
}

TEST_CASE("a term of 10,000 characters is cut, counted and found by its own text", "[cli]") {
  const TemporaryFolder folder;
  const std::string term = repeated("kilometre", 1111) + "x";
  const std::string corpus =
      folder.write("corpus.jsonl", "{\"id\":\"long\",\"contents\":\"mill " + term + "\"}\n" + small_jsonl);
  const RunOutcome outcome = run_quern({"index", corpus, "-o", folder.path("out"), "--json"});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.json()["parse"]["cut_terms"] == 1);
  CHECK(contains(outcome.err, "cut 1 term to 255 bytes"));
  CHECK(run_quern({"query", folder.path("out"), "--query", term, "-a", "and"}).out.starts_with("1 Q0 long 1 "));
  CHECK(run_quern({"inspect", folder.path("out"), term.substr(0, 255)}).exit_status == 0);
}

TEST_CASE("a million nested, unclosed or half-open tags take bounded time", "[cli]") {
  const TemporaryFolder folder;
  constexpr std::size_t million = 1000000;
  const std::string corpus =
      folder.write("corpus.trecweb",
                   web_page("nested", repeated("<div>", million) + "mill" + repeated("</div>", million)) +
                       web_page("unclosed", repeated("<b><p>", million) + "mill") +
                       web_page("open", repeated("<a href='", million) + "mill") +
                       web_page("angles", repeated("<", million) + " mill") +
                       web_page("comments", repeated("<!--", million) + " mill") + web_page("plain", "water mill"));
  const RunOutcome outcome = run_quern({"index", corpus, "-o", folder.path("out"), "--json"});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.json()["parse"]["indexed"] == 6);
  CHECK(outcome.seconds < 30);
  const std::string found = run_quern({"query", folder.path("out"), "--query", "mill"}).out;
  for (const char* docno : {" nested ", " unclosed ", " plain "}) CHECK(contains(found, docno));
}

TEST_CASE("texts under unknown names and empty documents are named once, with the first one's offset", "[cli]") {
  const TemporaryFolder folder;
  const std::string read = R"({"id": 1, "contents": "read"})"
                           "\n",
                    empty = R"({"id": 2, "vector": [1.5]})"
                            "\n",
                    unknown = R"({"id": 3, "summary": "s"})"
                              "\n";
  const std::string corpus = folder.write("c.jsonl", read + empty + unknown + empty + "{\"id\":4,\"text\":\"...\"}\n");
  const RunOutcome outcome = run_quern({"parse", corpus, "-o", folder.path("c"), "--json"});
  CHECK(outcome.exit_status == 0);
  const auto warning = [&](std::size_t offset) { return "warning: " + corpus + ": byte " + std::to_string(offset); };
  CHECK(contains(outcome.err,
                 warning(read.size()) +
                     ": document '2' is empty: it has no text under contents, text, content or body; its "
                     "key 'vector' is ignored; --impacts N indexes the weights of a vector; its record has 26 bytes "
                     "(3 documents in total)\n"));
  CHECK(contains(outcome.err, warning(read.size() + empty.size()) +
                                  ": it has no text under contents, text, content or body; its key 'summary' is "
                                  "indexed instead\n"));
  CHECK(outcome.json()["empty"] == 3);
}

TEST_CASE("documents within which a file ends are counted, and the first is named", "[cli][reports]") {
  const TemporaryFolder folder;
  const std::string whole = "<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>mill</TEXT>\n</DOC>\n";
  const auto parsed = [&](const std::string& name, const std::string& bytes) {
    const RunOutcome outcome =
        run_quern({"parse", folder.write(name, bytes), "-o", folder.path("c"), "--force", "--format", name});
    CHECK(outcome.exit_status == 0);
    return outcome.err;
  };
  CHECK_FALSE(contains(parsed("trectext", whole), "warning"));
  CHECK(contains(parsed("trectext", whole + whole.substr(0, 40)),
                 "trectext: byte 48: document '1' may lack text: the file ends within it\n"));
  CHECK_FALSE(contains(parsed("tsv", "1\tmill"), "warning"));
  const std::string record =
      "WARC/1.0\r\nWARC-Type: conversion\r\nContent-Type: text/plain\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
      "Content-Length: 10\r\n\r\n";
  CHECK_FALSE(contains(parsed("warc", record + "water mill"), "warning"));
  CHECK(contains(parsed("warc", record + "water mi"), "warc: byte 0: document '1' may lack text"));
}

TEST_CASE("a crawl that holds no documents is not called a corpus of unknown format", "[cli][reports]") {
  const TemporaryFolder folder;
  const std::string record = "WARC/1.0\r\nWARC-Type: request\r\nContent-Length: 4\r\n\r\nGET \r\n\r\n";
  const std::string crawl = folder.write("requests.warc", record + record);
  const RunOutcome outcome = run_quern({"index", crawl, "-o", folder.path("index")});
  CHECK(outcome.exit_status == 1);
  CHECK(contains(outcome.err,
                 crawl + ": no document to index (2 records read, 2 skipped, 0 bad); the first one skipped: " + crawl +
                     ": byte 0: a record of type request; name another corpus\n"));
}

TEST_CASE("an index without a term is an error unless --allow-empty is given", "[cli]") {
  const TemporaryFolder folder;
  for (const auto& [name, text, format, why] : std::vector<std::array<std::string, 4>>{
           {"a.trec", "<DOC><DOCNO>d</DOCNO><TEXT></TEXT><W>no</W></DOC>\n", "auto", "its element 'W' is ignored"},
           {"a.trecweb", "<DOC><DOCNO>d</DOCNO><DOCHDR>\nhttp://a/\n</DOCHDR><script>a</script></DOC>\n", "auto",
            "outside of tags, scripts and style sheets; its record has"},
           {"a.tsv", "d\t\n", "tsv", "behind its docno"},
           {"a.jsonl", R"({"id": "d", "text": "--"})", "auto", "its text '--' has no terms"}}) {
    INFO(name);
    const std::string corpus = folder.write(name, text), index = folder.path(name + ".quern");
    const RunOutcome refused = run_quern({"index", corpus, "-o", index, "--format", format});
    CHECK(refused.exit_status == 1);
    CHECK(contains(refused.err, "no document of the corpus has a term"));
    CHECK(contains(refused.err, "--allow-empty"));
    CHECK(contains(refused.err, "document 'd' is empty: "));
    CHECK(contains(refused.err, why));
    CHECK(run_quern({"index", corpus, "-o", index, "--format", format, "--allow-empty"}).exit_status == 0);
    CHECK(run_quern({"verify", index}).exit_status == 0);
    CHECK(run_quern({"query", index, "--query", "mill"}).out.empty());
  }
  const std::string collection = folder.path("collection");
  REQUIRE(run_quern({"parse", folder.path("a.jsonl"), "-o", collection}).exit_status == 0);
  CHECK(run_quern({"build", collection, "-o", folder.path("b")}).exit_status == 1);
  CHECK(run_quern({"build", collection, "-o", folder.path("b"), "--allow-empty"}).exit_status == 0);
}

TEST_CASE("at most --max-errors bad documents are skipped, and reported with file and offset", "[cli]") {
  const TemporaryFolder folder;
  std::string text = small_jsonl;
  CommandLine places;
  for (int i = 0; i < 5; ++i) {
    places.push_back(": byte " + std::to_string(text.size()) + ": ");
    text += "{\"id\": bad}\n";
  }
  const std::string corpus = folder.write("corpus.jsonl", text);
  const RunOutcome too_many = run_quern({"index", corpus, "-o", folder.path("out"), "--max-errors", "4"});
  check_failure(too_many, corpus + places.back());
  CHECK(contains(too_many.err, "--max-errors"));
  CHECK(names_in(folder.path("")) == CommandLine{"corpus.jsonl"});

  const RunOutcome passed = run_quern({"index", corpus, "-o", folder.path("out"), "--max-errors", "5", "--json"});
  CHECK(passed.exit_status == 0);
  const auto parsed = passed.json()["parse"];
  CHECK(parsed["read"] == 8);
  CHECK(parsed["bad"] == 5);
  for (std::size_t i = 0; i < places.size(); ++i)
    CHECK(std::string(parsed["bad_documents"][i]).starts_with(corpus + places[i]));
  CHECK(contains(passed.err, places[0]));
  CHECK(run_quern({"index", corpus, "-o", folder.path("out"), "--max-errors", "0", "--force"}).exit_status == 1);
}

TEST_CASE("Files in a folder that match no format are skipped and named; as an argument, such a file is an error",
          "[cli]") {
  const TemporaryFolder folder;
  folder.write("corpus/a.jsonl", small_jsonl);
  const std::string other = folder.write("corpus/README.txt", "About these files.\n");
  folder.write("corpus/z.jsonl", "{\"id\":\"z\",\"contents\":\"the last mill\"}\n");
  const RunOutcome outcome = run_quern({"parse", folder.path("corpus"), "-o", folder.path("collection"), "--json"});
  CHECK(outcome.exit_status == 0);
  CHECK(contains(outcome.err, "skipped " + other));
  CHECK(outcome.json()["indexed"] == 4);
  CHECK(outcome.json()["num_skipped_files"] == 1);
  CHECK(outcome.json()["skipped_files"] == CommandLine{other});
  check_failure(run_quern({"parse", other, "-o", folder.path("other")}), other);
  for (int i = 0; i < 110; ++i) folder.write("corpus/notes." + std::to_string(i), "About these files.\n");
  const auto json = run_quern({"parse", folder.path("corpus"), "-o", folder.path("other"), "--json"}).json();
  CHECK(json["num_skipped_files"] == 111);
  CHECK(json["skipped_files"].size() == 100);
  std::filesystem::remove(folder.path("other"));
  folder.write("texts/README.txt", "About other files.\n");
  check_failure(run_quern({"parse", folder.path("texts"), "-o", folder.path("other")}),
                folder.path("texts/README.txt"));
}

TEST_CASE("Endless input is refused", "[cli][reports]") {
  const TemporaryFolder folder;
  const std::string zero = "/dev/zero", corpus = folder.write("c.jsonl", small_jsonl), index = folder.path("i"),
                    run = folder.write("run", "1 Q0 a 1 1 t\n"), topics = folder.write("q", "1\tmill\n");
  REQUIRE(run_quern({"index", corpus, "--forward", "-o", index}).exit_status == 0);
  for (const CommandLine& words :
       {CommandLine{"index", "--files-from", zero, "-o", folder.path("o")},
        CommandLine{"index", corpus, "--stopwords", zero, "-o", folder.path("o")},
        CommandLine{"index", corpus, "--pagerank", zero, "-o", folder.path("o")},
        CommandLine{"index", zero, "-o", folder.path("o")},
        CommandLine{"query", index, "--query", "mill", "--ranker", zero},
        CommandLine{"query", index, "--query", "mill", "--filter", "@" + zero},
        CommandLine{"rerank", index, "--run", zero, "-q", topics, "--ranker", zero},
        CommandLine{"features", index, "--run", run, "-q", topics, "--qrels", zero}, CommandLine{"eval", zero, run},
        CommandLine{"merge-runs", zero, "-k", "3"}, CommandLine{"simulate", "throughput", zero, "--memory", "1G"},
        CommandLine{"simulate", "schedule", zero}, CommandLine{"bench", "cost", zero},
        CommandLine{"synth", "--df", zero, "--docs", "10", "-o", folder.path("o")},
        CommandLine{"import", zero, "-o", folder.path("o")}, CommandLine{"verify", zero}}) {
    INFO(words.front() << " " << words[1] << " " << words.back());
    RunningQuern running(words);
    CHECK(running.finish() == 1);
    if (!sanitized) CHECK(running.peak_memory_bytes() < 96 << 20);
  }
}

TEST_CASE("Files in compressions and archives that Quern can't read are named with a remedy wherever they are met",
          "[cli][reports]") {
  const TemporaryFolder folder;
  folder.write("corpus/a.jsonl", small_jsonl);
  const std::string zip = folder.write("corpus/b.zip", "PK\x03\x04 and so on");
  folder.write("corpus/c.lz4", "\x04\x22\x4d\x18 and so on");
  folder.write("corpus/d.txt", "About these files.\n");
  const std::string index = folder.path("index");
  for (const CommandLine& options : {CommandLine{}, {"--format", "jsonl", "--exclude", "d.txt", "--force"}}) {
    CommandLine words = {"index", folder.path("corpus"), "--forward", "-o", index};
    words.insert(words.end(), options.begin(), options.end());
    const RunOutcome outcome = run_quern(words);
    CHECK(outcome.exit_status == 0);
    CHECK(contains(outcome.err, "skipped " + zip + ": it is a zip archive, which Quern can't read; unpack it first"));
    CHECK(contains(outcome.err, "lz4 -d"));
    CHECK(contains(outcome.err, options.empty() ? "warning: 3 of the corpus's 4 files were skipped"
                                                : "warning: 2 of the corpus's 3 files were skipped"));
  }
  const std::string topics = folder.write("topics", "1\tmill\n"), run = folder.path("run"),
                    qrels = folder.write("qrels", "1 0 a 1\n");
  REQUIRE(run_quern({"query", index, "-q", topics, "-o", run}).exit_status == 0);
  for (const CommandLine& words : {CommandLine{"parse", zip, "-o", folder.path("out")},
                                   {"parse", zip, "--format", "tsv", "-o", folder.path("out")},
                                   {"query", index, "-q", zip},
                                   {"eval", run, zip},
                                   {"eval", zip, qrels},
                                   {"rerank", index, "--run", run, "-q", topics, "--ranker", zip},
                                   {"parse", "--files-from", zip, "-o", folder.path("out")}}) {
    const RunOutcome outcome = run_quern(words);
    check_failure(outcome, zip);
    CHECK(contains(outcome.err, "a zip archive, which Quern can't read; unpack it first"));
  }
}

TEST_CASE("Output that would overwrite a file in a corpus's folder is wrong usage", "[cli][output]") {
  const TemporaryFolder folder;
  const std::string inside = folder.write("folder/corpus.jsonl", small_jsonl), corpora = folder.path("folder"),
                    outside = folder.write("outside.jsonl", small_jsonl), index = folder.path("folder/index");
  REQUIRE(run_quern({"index", inside, "-o", index}).exit_status == 0);
  std::filesystem::create_symlink(outside, folder.path("folder/linked.jsonl"));
  const std::string before = read_file(index + "/index.quern");
  for (const std::string& output : {inside, inside + "/", folder.path("./folder/corpus.jsonl"), outside,
                                    folder.path("folder/linked.jsonl"), index, index + "/", index + "/index.quern"}) {
    const char* const command = output.find(index) == 0 ? "index" : "parse";
    const RunOutcome outcome = run_quern({command, corpora, "-o", output, "--force"});
    INFO(output << "\n" << outcome.err);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, "a file of the corpus"));
    CHECK(read_file(inside) == small_jsonl);
    CHECK(read_file(outside) == small_jsonl);
    CHECK(read_file(index + "/index.quern") == before);
  }
  CHECK(run_quern({"index", corpora, "-o", index, "--force", "--exclude", "index"}).exit_status == 0);
  CHECK(run_quern({"parse", corpora, "-o", folder.path("folder/new")}).exit_status == 0);
}

TEST_CASE("Every input's zstd window is bounded by the memory", "[cli]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index");
  const std::string collection = folder.path("collection"), output = folder.path("output");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  REQUIRE(run_quern({"parse", corpus, "-o", collection}).exit_status == 0);
  // The magic number, no size and no checksum, and a window of 2^25 bytes; then an empty last block.
  const std::string frame("\x28\xb5\x2f\xfd\x00\x78\x01\x00\x00", 9);
  const std::string packed = folder.write("packed", frame);
  for (const char* ending : {".docs", ".freqs", ".sizes", ".terms", ".documents"})
    folder.write(std::string("packed") + ending, frame);
  for (const CommandLine& arguments :
       {CommandLine{"parse", packed}, CommandLine{"order", collection, "--by", "score", "--links", packed},
        CommandLine{"order", collection, "--by", "score", "--pagerank", packed},
        CommandLine{"query", index, "-q", packed}, CommandLine{"import", packed, "--from", "ciff"},
        CommandLine{"import", packed, "--from", "ds2i"}}) {
    CommandLine limited = arguments;
    limited.insert(limited.end(), {"-o", output, "--memory", "64M"});
    INFO(arguments.front() << " " << arguments.back());
    check_failure(run_quern(limited), "its zstd data needs a window of more than ");
  }
}

TEST_CASE("A pipe where a Quern file is needed is an error, not a wait", "[cli]") {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const CommandLine& arguments :
       {CommandLine{"verify", pipe}, CommandLine{"inspect", pipe}, CommandLine{"query", pipe, "--query", "a"},
        CommandLine{"build", pipe, "-o", folder.path("index")}}) {
    INFO(arguments.front());
    check_failure(run_quern(arguments), pipe);
  }
}

TEST_CASE("An error ends a command that waits for a pipe's writer", "[cli]") {
  const TemporaryFolder folder;
  const std::string pipe = folder.path("pipe"), other = folder.write("other", "About other files.\n");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const CommandLine& corpus : {CommandLine{other, pipe}, CommandLine{pipe}}) {
    CommandLine arguments = {"parse", "-o", folder.path("collection"), "--max-errors", "0"};
    arguments.insert(arguments.end(), corpus.begin(), corpus.end());
    RunningQuern running(arguments);
    if (corpus.size() > 1) {
      CHECK(running.exit_status() == 1);
      continue;
    }
    // Input from a writer that connects later is read.
    int writer = -1;
    while ((writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO) ::usleep(1000);
    REQUIRE(writer >= 0);
    CHECK(::write(writer, small_jsonl.data(), small_jsonl.size()) == static_cast<ssize_t>(small_jsonl.size()));
    ::close(writer);
    CHECK(running.exit_status() == 0);
  }
}

TEST_CASE("An error ends a command whose standard input stays open", "[cli]") {
  const TemporaryFolder folder;
  RunningQuern running({"parse", "-", "-o", folder.path("nowhere/collection")});
  CHECK(running.exit_status() == 1);
}

TEST_CASE("errors distinguish files that are not Quern's from files of another kind", "[cli]") {
  const TemporaryFolder folder;
  const std::string corpus = folder.write("corpus.jsonl", small_jsonl), index = folder.path("index");
  const std::string collection = folder.path("collection");
  REQUIRE(run_quern({"index", corpus, "-o", index}).exit_status == 0);
  REQUIRE(run_quern({"parse", corpus, "-o", collection}).exit_status == 0);
  std::filesystem::create_directory(folder.path("folder"));
  check_failure(run_quern({"query", corpus, "--query", "mill"}), corpus + ": is not a Quern file");
  check_failure(run_quern({"query", collection, "--query", "mill"}), collection + ": is a Quern collection");
  const std::map<std::string, std::string> paths = {
      {index, "Quern index"}, {index + "/index.quern", "Quern index"}, {folder.path("folder"), "folder"}};
  for (const char* stage : {"build", "order"})
    for (const auto& [path, what] : paths)
      check_failure(run_quern({stage, path, "-o", folder.path("x")}),
                    path + ": is a " + what + "; expected a Quern collection, as written by quern parse");
  for (const std::string& path : {index, index + "/index.quern"})
    check_failure(run_quern({"index", path, "-o", folder.path("x")}),
                  "is a Quern index, not a corpus; name the documents that it was made from");
  check_failure(run_quern({"query", folder.path("folder"), "--query", "mill"}), folder.path("folder"));
  check_failure(run_quern({"query", folder.path("nowhere"), "--query", "mill"}), folder.path("nowhere"));
  check_failure(run_quern({"build", collection, "--order", corpus, "-o", folder.path("x")}), corpus);
  check_failure(run_quern({"query", index, "-q", folder.path("no_topics")}), folder.path("no_topics"));
  check_failure(run_quern({"index", corpus, "-o", folder.path("none/here")}), folder.path("none"));
  check_failure(run_quern({"index", corpus, "-o", folder.path("x"), "--stopwords", folder.path("words")}), "words");
  CHECK_FALSE(std::filesystem::exists(folder.path("x")));

  std::string newer = read_file(collection);
  newer[12] = 9;  // the format version; the header's checksum no longer fits
  folder.write("newer", newer);
  check_failure(run_quern({"inspect", folder.path("newer")}), "header is damaged");
}

TEST_CASE("an order of another collection is refused", "[cli][order]") {
  const TemporaryFolder folder;
  const std::string one = folder.path("one"), two = folder.path("two");
  REQUIRE(run_quern({"parse", folder.write("1.jsonl", small_jsonl), "-o", one}).exit_status == 0);
  REQUIRE(run_quern({"parse", folder.write("2.jsonl", "{\"id\":\"x\",\"text\":\"water\"}\n" + small_jsonl), "-o", two})
              .exit_status == 0);
  REQUIRE(run_quern({"order", one, "-o", folder.path("order")}).exit_status == 0);
  check_failure(run_quern({"build", two, "--order", folder.path("order"), "-o", folder.path("x")}),
                folder.path("order"));
}

}  // namespace quern
