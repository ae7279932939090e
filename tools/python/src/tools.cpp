#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <quern/api/quern.hpp>

#include <algorithm>
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
  api::EvaluationOptions options;
  options.measures = measures;
  const api::Evaluation found = work.finish([&] { return api::evaluate({{{}, run}}, qrels, options, work.work()); });
  const api::RunValues& values = found.runs.front();
  nb::dict all, by_query;
  const std::size_t num_measures = found.measures.size();
  for (std::size_t i = 0; i < num_measures; ++i) all[found.measures[i].name.c_str()] = values.values[i];
  for (std::size_t query = 0; query < found.qids.size(); ++query) {
    if (!values.has_results[query]) continue;
    nb::dict measured;
    for (std::size_t i = 0; i < num_measures; ++i)
      measured[found.measures[i].name.c_str()] = values.by_query[query * num_measures + i];
    by_query[found.qids[query].c_str()] = measured;
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
  if (budget_bytes != 0) options.budget_bytes = budget_bytes;
  options.budget_share = budget_share;
  options.policy = policy;
  options.max_admission = max_admission;
  options.k = k;
  options.scores = quantized ? api::Scores::quantized : api::Scores::exact;
  options.overwrite = overwrite;
  InterruptibleWork work({threads, memory, progress, nb::none()});
  const QueryList list(queries);
  const auto log = [&](const auto& take) { std::for_each(list.queries().begin(), list.queries().end(), take); };
  const api::PlanReport report = work.finish([&] { return api::plan_cache(index, log, path, options, work.work()); });
  using R = api::PlanReport;
  return to_dict(report, Field{"queries", &R::queries}, Field{"distinct_queries", &R::distinct_queries},
                 Field{"unknown_queries", &R::unknown_queries}, Field{"empty_queries", &R::empty_queries},
                 Field{"cached_bytes", &R::cached_bytes}, Field{"index_bytes", &R::index_bytes},
                 Field{"cached_blocks", &R::cached_blocks}, Field{"lists", &R::lists});
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
