#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <quern/api/quern.hpp>

#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "work.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace quern::python {
namespace {

nb::dict evaluate(const std::string& run, const std::string& qrels, const std::vector<std::string>& measures) {
  InterruptibleWork work({});
  const api::Evaluation found = work.finish([&] { return api::evaluate(run, qrels, measures, work.work()); });
  nb::dict all, by_query;
  for (std::size_t measure = 0; measure < found.measures.size(); ++measure)
    all[found.measures[measure].c_str()] = found.values[measure];
  for (std::size_t query = 0; query < found.qids.size(); ++query) {
    nb::dict values;
    for (std::size_t measure = 0; measure < found.measures.size(); ++measure)
      values[found.measures[measure].c_str()] = found.by_query[query * found.measures.size() + measure];
    by_query[found.qids[query].c_str()] = values;
  }
  nb::dict out;
  out["all"] = all;
  out["by_query"] = by_query;
  return out;
}

nb::dict plan(const api::Index& index, const nb::list& queries, const std::string& path, std::uint64_t budget_bytes,
              double budget_share, const std::string& policy, double max_admission, std::size_t k, bool quantized,
              bool overwrite, unsigned threads, std::uint64_t memory, const nb::object& progress) {
  api::PlanOptions options;
  options.budget_bytes = budget_bytes;
  options.budget_share = budget_share;
  options.policy = policy;
  options.max_admission = max_admission;
  options.k = k;
  options.scores = quantized ? api::Scores::quantized : api::Scores::exact;
  options.overwrite = overwrite;
  InterruptibleWork work({threads, memory, progress, nb::none()});
  const auto plan_for = [&](const auto& log) {
    return work.finish([&] { return api::plan_cache(index, log, path, options, work.work()); });
  };
  const bool has_vectors = queries.size() > 0 && nb::isinstance<nb::dict>(queries[0]);
  const api::PlanReport report =
      has_vectors ? plan_for(std::span(TermVectors(queries).terms())) : plan_for(TextList(queries, "a query").views());
  nb::dict out;
  out["queries"] = report.queries;
  out["distinct_queries"] = report.distinct_queries;
  out["unknown_queries"] = report.unknown_queries;
  out["empty_queries"] = report.empty_queries;
  out["cached_bytes"] = report.cached_bytes;
  out["index_bytes"] = report.index_bytes;
  out["cached_blocks"] = report.cached_blocks;
  out["lists"] = report.lists;
  return out;
}

}  // namespace

void bind_tools(nb::module_& module) {
  module.def("version", &api::version);
  module.def("policies", &api::policies);
  module.def("evaluate", &evaluate, "run"_a, "qrels"_a, "measures"_a);
  module.def("plan", &plan, "index"_a, "queries"_a, "path"_a, nb::kw_only(), "budget_bytes"_a = 0,
             "budget_share"_a = 0.0, "policy"_a = "", "max_admission"_a = 1.0, "k"_a = 10, "quantized"_a = false,
             "overwrite"_a = false, "threads"_a = 0, "memory"_a = 0, "progress"_a = nb::none());
}

}  // namespace quern::python
