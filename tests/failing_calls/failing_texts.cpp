#include <utility>
#include <vector>

#include "quern/eval/run_comparison.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/tables/document_tables.hpp"
#include "quern/formats/tables/measured_points.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/io/byte_source.hpp"

#include "failing_calls/failing_entry_points.hpp"
#include "failing_calls/failing_new.hpp"

namespace quern::testing {
namespace {

void read_tables() {
  const auto source = [](const char* text) {
    const OwnWork own;
    return ByteSource::from_memory(long_name, text);
  };
  read_pairs(*source("http://a.example/first\thttp://a.example/second\n"), "from<TAB>to",
             [](std::string_view, std::string_view, std::uint64_t) {});
  read_scores(*source("http://a.example/first 0.5\n"), [](const ScoreLine&) {});
  parse_measured_points("c,1,2\nt,1,2\ndq,1,2\n", long_name);
  const auto model = [](const char* text) {
    const OwnWork own;
    return ModelFile{long_name, text};
  };
  parse_ranker(model("0:[a<1] yes=1,no=2\n1:leaf=1\n2:leaf=2\n"));
  parse_ranker(model("[ranker]\nversion = 1\n[inputs]\nlinear = a\ntree = b <= 1 ? 1 : 2\n[layer.1]\nweights = 1 2\n"));
  parse_query_times(
      "#index\t0123456789abcdef\n"
      "query\tdevice\talgorithm\tstrategy\tk\tbatch\tus\tterms\tshortest\tsecond\tpostings\tblocks\tmissing\n"
      "1\tgpu\tan-algorithm-with-a-long-name\trange\t10\t1\t2.5\t1\t2\t0\t2\t1\t0\n",
      long_name);
  read_run(*source("1 Q0 a-docno-that-is-too-long-for-a-small-text 1 2.5 tag\n"),
           [](const RunLineText&, std::uint64_t) {});
  read_qrels(*source("1 0 a-docno-that-is-too-long-for-a-small-text 1\n"), [](const JudgementLine&, std::uint64_t) {});
}

void evaluate(const Workplace& place) {
  const auto source = [](const char* name, const char* text) {
    const OwnWork own;
    return ByteSource::from_memory(name, text);
  };
  EvaluationOptions options;
  options.measures = comparable_measures(std::move(options.measures));
  RunEvaluator evaluator(*source("qrels", "1 0 a 1\n1 0 b 0\n2 0 a-docno-that-is-too-long-for-a-small-text 2\n"),
                         std::move(options), place.resources);
  evaluator.add_run(*source("one", "1 Q0 a 1 2 tag\n1 Q0 c 2 1 tag\n2 Q0 b 1 1 tag\n3 Q0 b 1 1 tag\n"));
  evaluator.add_run(*source("other", "2 Q0 a-docno-that-is-too-long-for-a-small-text 1 1 tag\n1 Q0 b 2 1 tag\n"));
  compare_runs(evaluator.finish(), {});
}

void write_long_name() {
  AtomicOutput out = AtomicOutput::file(long_name, true);
  out.commit();
}

void read_queries_with_weights() {
  const QueryFile file = parse_queries("{\"id\": 1, \"vector\": {\"a-term-that-is-too-long-for-a-small-text\": 2}}\n",
                                       QueryFormat::vector, "log");
  parse_query_vector(file.queries.front().text, "query");
}

}  // namespace

std::vector<EntryPoint> text_calls(const Workplace& place) {
  return {{"read queries", [] { parse_queries("1\tmill\n2\twater wheel\n", QueryFormat::automatic, "log"); }},
          {"read queries with weights", [] { read_queries_with_weights(); }},
          {"read tables", [] { read_tables(); }},
          {"evaluate runs", [&] { evaluate(place); }},
          {"output of a long name", [] { write_long_name(); }}};
}

}  // namespace quern::testing
