#include <algorithm>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace quern::python {
namespace {

/// The path of a file, or an empty one and the text of a run.
using RunArgument = std::pair<std::string, std::string>;

/// The work of an evaluation, whose remarks are warnings.
api::Work warning_work(const InterruptibleWork& work) {
  api::Work warning = work.work();
  warning.remark = warning.warn;
  return warning;
}

/// `truth`: the path of judgements, or if `exact` of an exact run.
nb::dict evaluate(const RunArgument& run, const std::string& truth, const std::vector<std::string>& measures,
                  bool exact, const nb::object& warn) {
  InterruptibleWork work({0, 0, nb::none(), warn});
  api::EvaluationOptions options;
  options.measures = measures;
  options.exact = exact;
  const api::Evaluation found = work.finish([&] {
    return api::evaluate({{run.first, run.second}}, truth, options, warning_work(work));
  });
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

nb::dict difference_of(const api::RunDifference& run) {
  using D = api::RunDifference;
  return to_dict(run, Field{"mean", &D::mean}, Field{"difference", &D::difference}, Field{"wins", &D::wins},
                 Field{"ties", &D::ties}, Field{"losses", &D::losses}, Field{"t", &D::t}, Field{"t_p", &D::t_p},
                 Field{"holm_t_p", &D::holm_t_p}, Field{"degrees_of_freedom", &D::degrees_of_freedom},
                 Field{"randomization_p", &D::randomization_p}, Field{"holm_randomization_p", &D::holm_randomization_p},
                 Field{"is_exact", &D::is_exact});
}

/// By measure, the first run's mean, and the differences of the others. `truth`: as for evaluate().
nb::dict compare(const std::vector<RunArgument>& runs, const std::string& truth,
                 const std::vector<std::string>& measures, bool exact, bool complete, std::uint64_t samples,
                 std::uint64_t seed, const nb::object& warn) {
  InterruptibleWork work({0, 0, nb::none(), warn});
  api::EvaluationOptions options;
  options.measures = measures;
  options.exact = exact;
  options.complete = complete;
  options.compare = true;
  options.samples = samples;
  options.seed = seed;
  std::vector<api::TrecRun> read;
  for (const auto& [path, text] : runs) read.push_back({path, text});
  const api::Evaluation found = work.finish([&] { return api::evaluate(read, truth, options, warning_work(work)); });
  nb::dict out;
  for (const api::MeasureComparison& measure : found.comparisons) {
    nb::list others;
    for (const api::RunDifference& run : measure.others) others.append(difference_of(run));
    nb::dict compared;
    compared["mean"] = measure.first_mean;
    compared["others"] = others;
    out[measure.measure.c_str()] = compared;
  }
  return out;
}

/// Pairs of an id and a str, or a dict of terms and weights.
nb::list read_queries(const std::string& path, const std::string& queries_format, const std::string& id_field,
                      const std::vector<std::string>& text_fields) {
  InterruptibleWork work({});
  const std::vector<api::FileQuery> queries = work.finish([&] {
    return api::read_queries(path, {queries_format, id_field, text_fields}, work.work());
  });
  nb::list out;
  for (const api::FileQuery& query : queries) {
    nb::dict vector;
    for (const auto& [term, weight] : query.terms) vector[decoded(term)] = weight;
    // Other bytes than UTF-8 in a text become U+FFFD, as in the analyzer.
    out.append(nb::make_tuple(decoded(query.id),
                              queries_format == "vector" ? nb::object(vector) : decoded(query.text, "replace")));
  }
  return out;
}

/// The new run's text.
std::string fuse(const std::vector<std::string>& paths, const std::string& method, const std::vector<double>& weights,
                 const std::optional<std::string>& normalize, const std::optional<double>& rrf_k, std::uint64_t k,
                 unsigned threads, std::uint64_t memory) {
  const api::FusionOptions options{method, normalize, rrf_k, weights, k};
  InterruptibleWork work({threads, memory, nb::none(), nb::none()});
  return work.finish([&] {
    std::string run;
    api::fuse(
        paths, options, [&](std::string_view text) { run += text; }, work.work());
    return run;
  });
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

nb::dict point_dict(const api::TunedPoint& point) {
  using P = api::TunedPoint;
  return to_dict(point, Field{"k1", &P::k1}, Field{"b", &P::b}, Field{"alpha", &P::alpha}, Field{"value", &P::value});
}

nb::dict tuning_dict(const api::Tuning& tuning) {
  using T = api::Tuning;
  nb::dict out = to_dict(tuning, Field{"measure", &T::measure}, Field{"tuned", &T::tuned},
                         Field{"cross_validated", &T::cross_validated}, Field{"queries", &T::queries});
  nb::list points, folds;
  for (const api::TunedPoint& point : tuning.points) points.append(point_dict(point));
  for (const api::TunedFold& fold : tuning.folds) {
    nb::dict dict;
    dict["queries"] = fold.queries;
    dict["point"] = point_dict(fold.point);
    dict["others"] = fold.others;
    folds.append(dict);
  }
  out["points"] = points;
  out["folds"] = folds;
  out["best"] = point_dict(tuning.best);
  out["start"] = point_dict(tuning.start);
  return out;
}

nb::dict tune(const api::Index& index, const std::vector<std::string>& qids, const nb::list& queries,
              const std::string& qrels, const api::TuningOptions& options, unsigned threads, std::uint64_t memory,
              const nb::object& progress) {
  const QueryList list(queries);
  std::vector<api::Topic> topics;
  for (std::size_t i = 0; i < list.queries().size(); ++i) topics.push_back({qids[i], list.queries()[i]});
  InterruptibleWork work({threads, memory, progress, nb::none()});
  return tuning_dict(work.finish([&] { return api::tune(index, topics, qrels, options, work.work()); }));
}

void bind_tuning_options(nb::module_& module) {
  using O = api::TuningOptions;
  nb::class_<O> options(module, "TuningOptions", "What is tuned, and how.");
  options.def(nb::init<>());
  bind_members(options, Field{"k1", &O::k1}, Field{"b", &O::b}, Field{"alpha", &O::alpha},
               Field{"by_coordinates", &O::by_coordinates}, Field{"start_k1", &O::start_k1},
               Field{"start_b", &O::start_b}, Field{"start_alpha", &O::start_alpha}, Field{"measure", &O::measure},
               Field{"relevance_level", &O::relevance_level}, Field{"depth", &O::depth},
               Field{"complete", &O::complete}, Field{"trec_eval", &O::trec_eval}, Field{"k", &O::k},
               Field{"folds", &O::folds});
  options.def_prop_rw(
      "idf", [](const O& self) { return name_of(idfs, self.idf); },
      [](O& self, const std::string& name) { self.idf = named(idfs, name, "idf"); });
  options.def_prop_rw(
      "scorer", [](const O& self) { return name_of(scorers, self.scorer); },
      [](O& self, const std::string& name) { self.scorer = named(scorers, name, "scorer"); });
}

}  // namespace

void bind_tools(nb::module_& module) {
  bind_tuning_options(module);
  module.def("tune", &tune, "index"_a, "qids"_a, "queries"_a, "qrels"_a, "options"_a, "threads"_a = 0, "memory"_a = 0,
             "progress"_a = nb::none());
  module.def("read_queries", &read_queries, "path"_a, "queries_format"_a, "id_field"_a, "text_field"_a);
  module.def("version", &api::version);
  module.def("policies", &api::policies);
  module.def("evaluate", &evaluate, "run"_a, "truth"_a, "measures"_a, "exact"_a, "warn"_a.none());
  module.def("compare", &compare, "runs"_a, "truth"_a, "measures"_a, "exact"_a, "complete"_a, "samples"_a, "seed"_a,
             "warn"_a.none());
  module.def("fuse", &fuse, "paths"_a, "method"_a, "weights"_a, "normalize"_a, "rrf_k"_a, "k"_a, "threads"_a,
             "memory"_a);
  module.def("plan", &plan, "index"_a, "queries"_a, "path"_a, nb::kw_only(), "budget_bytes"_a = 0,
             "budget_share"_a = 0.0, "policy"_a = "", "max_admission"_a = 1.0, "k"_a = 10, "quantized"_a = false,
             "overwrite"_a = false, "threads"_a = 0, "memory"_a = 0, "progress"_a = nb::none());
}

}  // namespace quern::python
