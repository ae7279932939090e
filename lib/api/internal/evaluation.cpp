#include "quern/api/evaluation.hpp"

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/core/error.hpp"
#include "quern/eval/run_evaluation.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/io/byte_source.hpp"

namespace quern::api {

void append_trec_run(std::string& out, const Index& index, std::string_view qid, std::span<const std::uint32_t> docids,
                     std::span<const float> scores, std::string_view tag) {
  with_api_errors([&] {
    if (docids.size() != scores.size()) throw InvalidArgument("documents and scores differ in number");
    std::vector<RunResult> results;
    results.reserve(docids.size());
    for (std::size_t i = 0; i < docids.size(); ++i) {
      index.impl()->check(docids[i]);
      RunResult& result = results.emplace_back();
      result.docno = index.impl()->reader.docno(docids[i]);
      result.score = scores[i];
    }
    run_format_named("trec").append(out, qid, {}, results, tag);
  });
}

Evaluation evaluate(const std::string& run_text, const std::string& qrels_path,
                    const std::vector<std::string>& measures, const Work& work) {
  return with_api_errors([&] {
    const WorkResources resources(work, {});
    EvaluationOptions options;
    if (!measures.empty()) options.measures = measures_named(measures);
    RunEvaluator evaluator(*ByteSource::open(qrels_path, resources), options, resources);
    evaluator.add_run(*ByteSource::from_memory("the run", run_text));
    const quern::Evaluation found = evaluator.finish();
    Evaluation out;
    for (std::size_t measure = 0; measure < found.measures.size(); ++measure) {
      out.measures.push_back(found.measures[measure].name());
      out.values.push_back(found.summary(0, measure, false));
    }
    for (std::size_t query = 0; query < found.qids.size(); ++query) {
      if (!found.runs.front().has_results[query]) continue;
      out.qids.push_back(found.qids[query]);
      for (std::size_t measure = 0; measure < found.measures.size(); ++measure)
        out.by_query.push_back(found.value(0, query, measure));
    }
    return out;
  });
}

}  // namespace quern::api
