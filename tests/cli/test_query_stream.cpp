#include "catch.hpp"
#include "cli/mill_index.hpp"
#include "cli/small_corpus.hpp"
#include "corpus/compressing.hpp"
#include "corpus/temporary_folder.hpp"

/// Queries that arrive over time.
namespace quern {
namespace {

using namespace testing;

}  // namespace

TEST_CASE("a stream's queries are answered while it stays open", "[cli][query][stream]") {
  const MillIndex mill;
  RunningQuern run(
      mill.stream_command({"--queries-format", "tsv", "--batch-wait", "1", "--output-format", "msmarco", "-k", "1"}),
      true);
  run.write("a\tmill\n");
  CHECK(run.read_line() == "a\tM-2\t1");
  run.write("b\tstones\nc\tmi");
  CHECK(run.read_line().starts_with("b\tM-"));
  run.write("ll\n");
  CHECK(run.read_line() == "c\tM-2\t1");
  CHECK(run.finish() == 0);
}

TEST_CASE("a full batch does not wait", "[cli][query][stream]") {
  const MillIndex mill;
  RunningQuern run(mill.stream_command({"--queries-format", "lines", "--batch-wait", "3600000", "--batch", "2",
                                        "--output-format", "msmarco", "-k", "1"}),
                   true);
  run.write("mill\nmill\nmill\n");
  CHECK(run.read_line() == "1\tM-2\t1");
  CHECK(run.read_line() == "2\tM-2\t1");
  // The third query's batch is due at the end of input.
  CHECK(run.finish() == 0);
  CHECK(run.read_line() == "3\tM-2\t1");
}

TEST_CASE("a stream gives the results of a file, in every format with one query per line", "[cli][query][stream]") {
  const MillIndex mill;
  const std::pair<const char*, const char*> inputs[] = {
      {"lines", "\xef\xbb\xbfmill\r\n\nstones mill\nnowhere"},
      {"tsv", "7\twater mill\n12\tstones\n"},
      {"colon", "7:water mill\n12:stones\n"},
      {"weighted", "7:1:water mill\n12:4:stones\n"},
      {"jsonl", "{\"_id\": \"7\", \"text\": \"water mill\"}\n{\"_id\": 12, \"text\": \"stones\"}\n"},
  };
  for (const auto& [form, input] : inputs) {
    INFO(form);
    const RunOutcome whole = mill.stream({"--queries-format", form}, input);
    CHECK(whole.exit_status == 0);
    CHECK_FALSE(whole.out.empty());
    for (const char* batch : {"1", "2", "100"}) {
      const RunOutcome stream = mill.stream({"--queries-format", form, "--batch-wait", "0", "--batch", batch}, input);
      CHECK(stream.exit_status == 0);
      CHECK(stream.out == whole.out);
    }
  }
}

TEST_CASE("the size of a stream's long queries limits a batch", "[cli][query][stream]") {
  const MillIndex mill;
  RunningQuern run(mill.stream_command({"--queries-format", "lines", "--batch-wait", "3600000", "--batch", "60000",
                                        "--memory", "32M", "--output-format", "msmarco", "-k", "1", "-j", "4"}),
                   true);
  const std::string line = "mill" + std::string(std::size_t{1} << 19, '.') + "\n";
  for (int i = 0; i < 4; ++i) run.write(line);
  CHECK(run.read_line() == "1\tM-2\t1");
  for (int i = 0; i < 300; ++i) run.write(line);
  CHECK(run.finish() == 0);
  if (!sanitized) CHECK(run.peak_memory_bytes() < 96 << 20);
}

TEST_CASE("a stream must name its format, and errors in it follow the previous answers", "[cli][stream]") {
  const MillIndex mill;
  for (const char* form : {"auto", "trec", "webtrack"}) {
    const RunOutcome refused = mill.stream({"--queries-format", form, "--batch-wait", "0"}, "mill\n");
    CHECK(refused.exit_status == 2);
    CHECK(contains(refused.err, "--queries-format"));
    CHECK(contains(refused.err, "tsv"));
  }
  const RunOutcome damaged =
      mill.stream({"--queries-format", "tsv", "--batch-wait", "0", "--output-format", "msmarco"}, "7\tmill\n\nmill\n");
  CHECK(damaged.exit_status == 1);
  CHECK(contains(damaged.out, "7\tM-2\t1"));
  CHECK(contains(damaged.err, "standard input, line 3"));
  CHECK(run_quern({"query", mill.index, "--query", "mill", "--batch-wait", "1"}).exit_status == 2);
  CHECK(mill.stream({"--batch-wait", "-1"}, "").exit_status == 2);
  CHECK(mill.stream({"--gpus", "some"}, "mill\n").exit_status == 2);
  CHECK(mill.stream({"--gpus", "0"}, "mill\n").exit_status == 2);
}

TEST_CASE("a compressed stream is refused with the remedy", "[cli][stream]") {
  const MillIndex mill;
  for (const std::string& packed : {gzipped("mill\n"), zstd_packed("mill\n")}) {
    const RunOutcome refused = mill.stream({"--queries-format", "lines", "--batch-wait", "0"}, packed);
    CHECK(refused.exit_status == 1);
    CHECK(contains(refused.err, "standard input: is compressed"));
    CHECK(contains(refused.err, "--batch-wait"));
    CHECK(mill.stream({"--queries-format", "lines"}, packed).exit_status == 0);
  }
}

}  // namespace quern
