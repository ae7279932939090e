#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <tuple>

#include "quern/search/algorithm.hpp"

#include "catch.hpp"
#include "cli/mill_index.hpp"
#include "cli/plan_files.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/compressing.hpp"

/// Queries from the shell: their sources, and the formats of results.
namespace quern {
namespace {

using namespace testing;

/// The columns docno and rank of a run's lines.
std::vector<std::pair<std::string, std::string>> ranking(const std::string& run) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const std::string& line : lines_of(run)) {
    std::istringstream columns(line);
    std::string qid, q0, docno, rank;
    columns >> qid >> q0 >> docno >> rank;
    rows.emplace_back(docno, rank);
  }
  return rows;
}

}  // namespace

TEST_CASE("thousands of results are printed with all their ranks, and keep within the memory", "[cli][query]") {
  const TemporaryFolder folder;
  std::string pages;
  const int documents = sanitized ? 4000 : 100000;  // sanitizers make it slow
  for (int i = 0; i < documents; ++i) pages += "{\"id\":\"M-" + std::to_string(i) + "\",\"contents\":\"mill\"}\n";
  const std::string index = folder.path("index");
  REQUIRE(run_quern({"index", folder.write("corpus.jsonl", pages), "-o", index}).exit_status == 0);
  const RunOutcome trec = run_quern({"query", index, "--query", "mill", "-k", "3000"});
  std::size_t rank = 0;
  for (const std::string& line : lines_of(trec.out)) CHECK(contains(line, " " + std::to_string(++rank) + " "));
  CHECK(rank == 3000);
  const RunOutcome found = run_quern({"intersect", index, "--query", "mill", "--json"});
  CHECK(found.json()["results"].size() == static_cast<std::size_t>(documents));
  CHECK(run_quern({"query", index, "--query", "mill", "-k", "3000", "--output-format", "json"})
            .json()["results"]
            .size() == 3000);
  if (sanitized) return;  // sanitizers keep freed memory
  const std::string log = folder.write("log", "mill\nmill\nmill\nmill\n");
  // Each thread may hold its results.
  const RunOutcome refused = run_quern({"query", index, "-q", log, "-k", "100000", "--memory", "64M", "-j", "100"});
  CHECK(refused.exit_status == 1);
  CHECK(contains(refused.err, "lower -k"));
  for (const CommandLine& command :
       {CommandLine{"query", index, "-q", log, "-k", "100000", "--output-format", "json", "-j", "4"},
        CommandLine{"intersect", index, "-q", log, "--json", "-j", "4"}}) {
    CommandLine limited = command;
    limited.insert(limited.end(), {"--memory", "32M"});
    RunningQuern running(limited);
    CHECK(running.finish() == 0);
    CHECK(running.peak_memory_bytes() < 60 << 20);
  }
}

TEST_CASE("queries of thousands of terms keep within the memory, or are refused by name", "[cli][query]") {
  const TemporaryFolder folder;
  std::string words;
  for (int i = 0; i < 1800; ++i) words += "mill" + std::to_string(i) + " ";
  const std::string corpus = folder.write("corpus", web_page("M-1", words) + web_page("M-2", words));
  REQUIRE(run_quern({"index", corpus, "-o", folder.path("index")}).exit_status == 0);
  std::string queries, longer_queries;
  for (int i = 1; i <= 200; ++i) {
    queries += std::to_string(i) + ":" + words.substr(0, 10000) + "\n";
    longer_queries += std::to_string(i) + ":" + words + words + "\n";
  }
  const std::string log = folder.write("log", queries), longer_log = folder.write("longer", longer_queries);
  const auto peak = [&](const std::string& queries_file, const char* memory) {
    RunningQuern run({"query", folder.path("index"), "-q", queries_file, "-a", "or", "--memory", memory, "-j", "64"});
    CHECK(run.finish() == 0);
    return run.peak_memory_bytes();
  };
  // Sixty-four at once would need 850 MB and 1.3 GB.
  const auto at_64M = peak(log, "64M"), at_80M = peak(longer_log, "80M");
  if (!sanitized) {  // sanitizers keep freed memory
    CHECK(at_64M < 128 << 20);
    CHECK(at_80M < 144 << 20);
  }
  const RunOutcome refused = run_quern({"query", folder.path("index"), "-q", longer_log, "--memory", "64M"});
  CHECK(refused.exit_status == 1);
  CHECK(contains(refused.err,
                 "a query needs 21.1M of memory, but only 18.0M is allowed; shorten it, ask for fewer results, or "
                 "raise --memory"));
}

TEST_CASE("files of long lines and topics keep within the memory, or are refused by name", "[cli][query]") {
  const MillIndex mill;
  // Written piece by piece, since this process's memory counts in the peaks of those that it starts.
  const auto write = [&](const std::string& begin, char filling, const std::string& end, int times) {
    const std::string path = mill.folder.path("queries"), piece(std::size_t{1} << 20, filling);
    std::ofstream out(path);
    for (int i = 0; i < times; ++i) {
      out << begin;
      for (int pieces = 0; pieces < 120 / times; ++pieces) out << piece;
      out << end;
    }
    return path;
  };
  const std::tuple<std::string, char, std::string, int, const char*> files[] = {
      {"<top><num>7<title>mill<narr>", '.', "</top>\n", 120, ""},
      {"<top><num>7<title>mill", '.', "</top>\n", 1, "line 1: the topic that begins here has a field of more than 4M"},
      {"{\"_id\":\"7\",\"text\":\"mill", '.', "\"}\n", 1, "line 1: is longer than 4M"},
      {"7:mill", '.', "\n", 1, "line 1: is longer than 4M"},
  };
  for (const auto& [begin, filling, end, times, complaint] : files) {
    INFO(begin);
    const CommandLine words = {"intersect", mill.index, "-q", write(begin, filling, end, times),
                               "--count",   "--memory", "32M"};
    const bool is_refused = *complaint != 0;
    RunningQuern run(words);
    CHECK(run.finish() == (is_refused ? 1 : 0));
    if (!sanitized) CHECK(run.peak_memory_bytes() < 96 << 20);
    if (is_refused) CHECK(contains(run_quern(words).err, complaint));
  }
}

TEST_CASE("results are written as TREC, MS MARCO, JSON lines or a table", "[cli][query]") {
  const MillIndex mill;
  const RunOutcome trec = mill.query({"--query", "mill", "--tag", "my tag"});
  CHECK(trec.exit_status == 0);
  CHECK(trec.err.empty());
  CHECK(ranking(trec.out) == std::vector<std::pair<std::string, std::string>>{{"M-2", "1"}, {"M-1", "2"}});
  for (const std::string& line : lines_of(trec.out)) {
    CHECK(line.starts_with("1 Q0 M-"));
    CHECK(line.ends_with(" my_tag"));
    CHECK_FALSE(contains(line, "  "));
  }
  CHECK(mill.query({"--query", "mill", "--output-format", "msmarco"}).out == "1\tM-2\t1\n1\tM-1\t2\n");

  const auto json = mill.query({"--query", "Mill!", "--output-format", "json"}).json();
  CHECK(json["id"] == "1");
  CHECK(json["query"] == "Mill!");
  REQUIRE(json["results"].size() == 2);
  CHECK(json["results"][0]["docno"] == "M-2");
  CHECK(json["results"][0]["rank"] == 1);
  CHECK(json["results"][0]["title"] == "Wind");
  CHECK(json["results"][0]["url"] == "http://a.example/wind");
  // Scores read back to the same float, in every format.
  const std::string line = lines_of(trec.out).front();
  std::istringstream columns(line);
  std::string skipped, score;
  columns >> skipped >> skipped >> skipped >> skipped >> score;
  CHECK(std::strtof(score.c_str(), nullptr) == json["results"][0]["score"].get<float>());

  const std::string table = mill.query({"--query", "mill", "--output-format", "text"}).out;
  for (const char* shown : {"M-2", "Wind", "http://a.example/wind", "The Wheel"}) CHECK(contains(table, shown));
}

TEST_CASE("a plan for the index changes nothing on the CPU, and one for another index is refused",
          "[cli][query][plan]") {
  const MillIndex mill;
  const std::string plan = mill.folder.path("mill.plan");
  write_plan(mill.index, plan);
  const RunOutcome without = mill.query({"--query", "mill stone"}),
                   with = mill.query({"--query", "mill stone", "--plan", plan});
  CHECK(with.exit_status == 0);
  CHECK(with.out == without.out);
  CHECK(lines_of(with.err).size() == 1);
  CHECK(contains(with.err, plan));
  CHECK(contains(with.err, "CPU"));
  CHECK(mill.query({"--query", "mill", "--plan", plan, "--quiet"}).err.empty());

  const std::string other_index = mill.folder.path("other"), other = mill.folder.path("other.plan");
  REQUIRE(run_quern({"index", mill.folder.path("c.trecweb"), "-o", other_index, "--codec", "rice"}).exit_status == 0);
  write_plan(other_index, other);
  const RunOutcome refused = mill.query({"--query", "mill", "--plan", other});
  CHECK(refused.exit_status == 1);
  CHECK(refused.out.empty());
  CHECK(refused.err.starts_with("quern: error: " + other + ": "));
  CHECK(contains(refused.err, "quern plan " + mill.index));

  const std::string damaged = mill.folder.path("damaged.plan");
  write_plan(mill.index, damaged, 2);
  CHECK(mill.query({"--query", "mill", "--plan", damaged}).exit_status == 1);
  CHECK(mill.query({"--query", "mill", "--plan", mill.index}).exit_status == 1);
  CHECK(mill.query({"--query", "mill", "--plan", mill.folder.path("nowhere")}).exit_status == 1);
}

TEST_CASE("or finds documents with any term, and those with all, k limits them, and unknown terms find none",
          "[cli][query]") {
  const MillIndex mill;
  CHECK(ranking(mill.query({"--query", "stones mill", "-k", "1000"}).out).size() == 3);
  CHECK(ranking(mill.query({"--query", "stones mill", "-k", "2"}).out).size() == 2);
  const auto both = ranking(mill.query({"--query", "stones mill", "-a", "and"}).out);
  CHECK(both == std::vector<std::pair<std::string, std::string>>{{"M-1", "1"}});
  CHECK(mill.query({"--query", "stones nowhere", "-a", "and"}).out.empty());
  CHECK(ranking(mill.query({"--query", "stones nowhere"}).out).size() == 2);
  for (const char* query : {"nowhere", "!?", "\xff\xfe"}) {
    const RunOutcome nothing = mill.query({"--query", query});
    CHECK(nothing.exit_status == 0);
    CHECK(nothing.out.empty());
  }
  // URL terms are not searched; titles are.
  CHECK(mill.query({"--query", "example"}).out.empty());
  CHECK(ranking(mill.query({"--query", "the"}).out).size() == 2);
}

TEST_CASE("unusual query files get an answer for each query, with every algorithm", "[cli][query]") {
  const MillIndex mill;
  std::string thousand = "mill";
  for (int i = 1; i < 1000; ++i) thousand += i % 3 == 0 ? " mill" : " w" + std::to_string(i);
  // The same id twice, an empty query, one of unknown terms only, one of a thousand terms.
  const std::string log = "7:mill\n7:mill\n8:\n9:nowhere nothing\n10:" + thousand + "\n";
  const std::string two = mill.query({"--query", "mill", "-k", "1000000"}).out;
  for (const std::string algorithm : {"maxscore", "bmw", "wand", "or", "and", "and-or"}) {
    INFO(algorithm);
    const RunOutcome run = mill.query({"-q", "-", "-a", algorithm, "-k", "1000000"}, log);
    CHECK(run.exit_status == 0);
    std::map<std::string, std::size_t> lines;
    for (const std::string& line : lines_of(run.out)) ++lines[line.substr(0, line.find(' '))];
    CHECK(lines["7"] == 2 * lines_of(two).size());
    CHECK(lines["8"] == 0);
    CHECK(lines["9"] == 0);
    CHECK(lines["10"] == (algorithm == "and" ? 0 : lines_of(two).size()));
  }
}

TEST_CASE("the keys and tags of queries can be named, for files and streams", "[cli][query]") {
  const MillIndex mill;
  const std::string questions = "{\"question_id\": 7, \"question\": \"wheel\", \"hint\": \"mill\"}\n";
  const auto answer = [&](const CommandLine& options, const std::string& input) {
    CommandLine words = {"-q", "-", "--output-format", "msmarco"};
    words.insert(words.end(), options.begin(), options.end());
    const RunOutcome outcome = mill.query(words, input);
    INFO(outcome.err);
    CHECK(outcome.exit_status == 0);
    return outcome.out;
  };
  const std::string wanted = answer({"--queries-format", "tsv"}, "7\twheel mill\n");
  REQUIRE_FALSE(wanted.empty());
  const CommandLine fields = {"--id-field", "question_id", "--text-field", "question,hint"};
  CHECK(answer(fields, questions) == wanted);
  CHECK(answer(fields, "[" + questions + "]") == wanted);
  CommandLine stream = fields;
  stream.insert(stream.end(), {"--queries-format", "jsonl", "--batch-wait", "1"});
  CHECK(answer(stream, questions) == wanted);
  CHECK(answer({"--text-field", "desc"}, "<top><num>7<title>x<desc>wheel mill</top>") == wanted);
  const RunOutcome refused = mill.query({"-q", "-"}, questions);
  CHECK(refused.exit_status == 1);
  CHECK(contains(refused.err, "name the id's with --id-field"));
}

TEST_CASE("quantized scores are whole numbers, and refused if the index has none", "[cli][query][quantized]") {
  const MillIndex mill;
  const RunOutcome refused = mill.query({"--query", "mill", "--scores", "quantized"});
  CHECK(refused.exit_status == 1);
  CHECK(contains(refused.err, "--quantize"));
  const std::string index = mill.folder.path("quantized");
  REQUIRE(run_quern({"index", mill.folder.path("c.trecweb"), "-o", index, "--quantize", "8"}).exit_status == 0);
  const std::string run = run_quern({"query", index, "--query", "mill mill", "--scores", "quantized"}).out;
  REQUIRE(lines_of(run).size() == 2);
  for (const std::string& line : lines_of(run)) {
    std::istringstream columns(line);
    std::string qid, q0, docno, rank, score;
    columns >> qid >> q0 >> docno >> rank >> score;
    CHECK(std::stoi(score) > 0);
    CHECK(std::stoi(score) % 2 == 0);
    CHECK(score.find('.') == std::string::npos);
  }
  CHECK(run_quern({"query", index, "--query", "mill"}).out == mill.query({"--query", "mill"}).out);
}

TEST_CASE("k1, b and IDF may differ from the index's", "[cli][query]") {
  const MillIndex mill;
  const std::string usual = mill.query({"--query", "mill wind"}).out;
  CHECK(mill.query({"--query", "mill wind", "--k1", "1.2", "--b", "0.75", "--idf", "lucene"}).out == usual);
  for (const CommandLine& options :
       {CommandLine{"--k1", "0.9"}, CommandLine{"--b", "0.4"}, CommandLine{"--idf", "robertson"}}) {
    CommandLine arguments = {"--query", "mill wind"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const RunOutcome outcome = mill.query(arguments);
    CHECK(outcome.exit_status == 0);
    CHECK(lines_of(outcome.out).size() == 2);
    CHECK(outcome.out != usual);
  }
}

TEST_CASE("queries come from files, compressed ones and standard input, in their order", "[cli][query]") {
  const MillIndex mill;
  const std::string queries = "7:mill\n3:no such\n12:stone wheel\n";
  const std::string wanted = mill.query({"-q", mill.folder.write("q.txt", queries)}).out;
  CommandLine ids;
  for (const std::string& line : lines_of(wanted)) {
    const std::string id = line.substr(0, line.find(' '));
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  }
  CHECK(ids == CommandLine{"7", "12"});
  CHECK(mill.query({"-q", mill.folder.write("q.gz", gzipped(queries))}).out == wanted);
  CHECK(mill.query({"-q", mill.folder.write("q.zst", zstd_packed(queries))}).out == wanted);
  CHECK(mill.query({"-q", "-"}, queries).out == wanted);
  CHECK(mill.query({"-q", "-"}, gzipped(queries)).out == wanted);
  for (const char* threads : {"1", "3"}) CHECK(mill.query({"-q", "-", "-j", threads}, queries).out == wanted);
  const std::string topics =
      "<top>\n<num> Number: 7\n<title> mill\n</top>\n<top>\n<num> Number: 12\n<title> stone wheel\n</top>\n";
  CHECK(mill.query({"-q", "-"}, topics).out == wanted);
  CHECK(lines_of(mill.query({"-q", "-", "--output-format", "json"}, queries).out).size() == 3);
}

TEST_CASE("a run is written to a file with the same bytes as to standard output", "[cli][query]") {
  const MillIndex mill;
  const std::string run = mill.folder.path("my.run");
  const RunOutcome outcome = mill.query({"--query", "mill stones", "-o", run});
  CHECK(outcome.exit_status == 0);
  CHECK(outcome.out.empty());
  CHECK(read_file(run) == mill.query({"--query", "mill stones"}).out);
  CHECK(mill.query({"-q", mill.folder.path("nothing"), "-o", run, "--force"}).exit_status == 1);
  CHECK(!read_file(run).empty());
}

TEST_CASE("runs over every codec and block size are the same bytes", "[cli][query]") {
  const TemporaryFolder folder;
  const std::string collection = folder.path("collection");
  REQUIRE(run_quern({"parse", sample_folder + "/corpus", "-o", collection}).exit_status == 0);
  std::string wanted;
  for (const auto& [codec, block_size] :
       {std::pair("newpfd", "64"), std::pair("rpfd", "128"), std::pair("rice", "256"), std::pair("maskpfd", "512")}) {
    INFO(codec << " " << block_size);
    REQUIRE(run_quern({"build", collection, "-o", folder.path("index"), "--force", "--codec", codec, "--block-size",
                       block_size})
                .exit_status == 0);
    const RunOutcome outcome =
        run_quern({"query", folder.path("index"), "-q", sample_folder + "/topics.txt", "-k", "100"});
    CHECK(outcome.exit_status == 0);
    if (wanted.empty()) wanted = outcome.out;
    CHECK(lines_of(outcome.out).size() > 500);
    CHECK(outcome.out == wanted);
  }
}

TEST_CASE("times and counts of queries are written as JSON, for each algorithm", "[cli][query]") {
  const MillIndex mill;
  for (const char* algorithm : {"or", "maxscore", "and"}) {
    INFO(algorithm);
    const std::string stats = mill.folder.path("stats.json");
    const RunOutcome outcome = mill.query({"--query", "mill", "-a", algorithm, "--stats", stats});
    REQUIRE(outcome.exit_status == 0);
    CHECK(contains(outcome.err, "1 query, "));
    const auto json = nlohmann::json::parse(read_file(stats));
    CHECK(json["queries"] == 1);
    CHECK(json["algorithm"] == algorithm);
    CHECK(json["postings"] == 2);
    CHECK(json["postings_scored"] == 2);
    CHECK(json["blocks_decoded"] == 1);
    CHECK(json["blocks_skipped"] == 0);
    for (const char* key : {"mean_us", "p50_us", "p90_us", "p95_us", "p99_us", "p999_us", "queries_per_second"})
      CHECK(json[key].get<double>() > 0);
  }
}

TEST_CASE("no algorithm counts more postings as scored than its lists have", "[cli][query]") {
  const TemporaryFolder folder;
  const std::string index = folder.path("index"), stats = folder.path("stats.json");
  REQUIRE(run_quern({"index", sample_folder + "/corpus", "-o", index}).exit_status == 0);
  for (const QueryAlgorithm& algorithm : all_algorithms()) {
    INFO(algorithm.name);
    const RunOutcome outcome = run_quern({"query", index, "-q", sample_folder + "/query_log.txt", "-a",
                                          std::string(algorithm.name), "-k", "1000", "--stats", stats});
    REQUIRE(outcome.exit_status == 0);
    const auto json = nlohmann::json::parse(read_file(stats));
    CHECK(json["postings_scored"] <= json["postings"]);
    CHECK(json["blocks_decoded"] <= json["blocks"]);
    CHECK(json["blocks_decoded"].get<int>() + json["blocks_skipped"].get<int>() == json["blocks"].get<int>());
  }
}

TEST_CASE("queries run on the CPU without a GPU, unless a GPU is required", "[cli][query]") {
  const MillIndex mill;
  const RunOutcome on_cpu = mill.query({"--query", "mill wheel"});
  Surroundings no_gpu;
  no_gpu.variables = {{"CUDA_VISIBLE_DEVICES", ""}};
  const RunOutcome on_any = run_quern({"query", mill.index, "--query", "mill wheel", "--device", "auto"}, no_gpu);
  CHECK(on_any.exit_status == 0);
  CHECK(on_any.out == on_cpu.out);
  CHECK(on_any.err.find("queries run on the CPU") != std::string::npos);
  const RunOutcome on_gpu = run_quern({"query", mill.index, "--query", "mill wheel", "--device", "gpu"}, no_gpu);
  CHECK(on_gpu.exit_status == 1);
  CHECK(on_gpu.out.empty());
  CHECK(on_gpu.err.find("--device cpu") != std::string::npos);
  CHECK(mill.query({"--query", "mill", "--device", "tpu"}).exit_status == 2);
  CHECK(mill.query({"--query", "mill wheel", "--gpu-options", "strategy=ding,partitions=64"}).out == on_cpu.out);
  CHECK(mill.query({"--query", "mill wheel", "--gpu-options", "strategy=wang,round=64", "-a", "and"}).exit_status == 0);
  for (const char* algorithm : {"or", "and-or", "maxscore"}) {
    const RunOutcome refused = mill.query({"--query", "mill", "--gpu-options", "strategy=wang", "-a", algorithm});
    CHECK(refused.exit_status == 2);
    CHECK(refused.err.find("the strategy wang answers `and` only; choose another strategy, or --algorithm and") !=
          std::string::npos);
  }
  const RunOutcome unknown = mill.query({"--query", "mill", "--gpu-options", "strategy=none"});
  CHECK(unknown.exit_status == 2);
  CHECK(unknown.err.find("range, ding, partition") != std::string::npos);
  for (const char* key : {"partitions=", "round="})
    for (const char* threads : {"0", "33", "1024", "many"})
      CHECK(mill.query({"--query", "mill", "--gpu-options", std::string(key) + threads}).exit_status == 2);
  for (const char* tails : {"auto", "copy", "cpu"})
    CHECK(mill.query({"--query", "mill wheel", "--gpu-options", std::string("tails=") + tails}).out == on_cpu.out);
  const RunOutcome tails = mill.query({"--query", "mill", "--gpu-options", "tails=gpu"});
  CHECK(tails.exit_status == 2);
  CHECK(tails.err.find("--gpu-options: tails: 'gpu' is not one of auto, copy, cpu") != std::string::npos);
  CHECK(mill.query({"--query", "mill", "--gpu-options", "wheels=2"}).err.find("'wheels' is not one of strategy,") !=
        std::string::npos);
  CHECK(mill.query({"--query", "mill", "--gpu-options", "partitions"}).exit_status == 2);
  CHECK(mill.query({"--gpu-options", "seed=2", "--gpu-options", "fast-math,tails=cpu", "--query", "mill"})
            .err.find("fast-math need --ranker") != std::string::npos);
}

}  // namespace quern
