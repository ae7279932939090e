#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace quern::python {
namespace {

constexpr std::pair<const char*, api::Scores> all_scores[] = {{"exact", api::Scores::exact},
                                                              {"quantized", api::Scores::quantized}};

/// Where and with what a searcher or an intersector is opened.
struct Opening {
  Opening(const std::string& device, unsigned gpu, unsigned gpus, std::uint64_t gpu_memory,
          const std::vector<std::string>& plans, unsigned threads, std::uint64_t memory, const nb::object& warn) {
    placement.device = named(devices, device, "device");
    placement.gpu = gpu;
    placement.gpus = gpus;
    if (gpu_memory != 0) placement.gpu_memory_bytes = gpu_memory;
    placement.plans = plans;
    work.threads = threads;
    work.memory_bytes = memory;
    // A notice may come at any time from any thread, so an exception in it can't be raised anywhere.
    set_callbacks(work, {0, 0, nb::none(), warn}, std::make_shared<CallerFailure>());
    placement.notice = work.warn;
  }

  api::Placement placement;
  api::Work work;
};

void make_searcher(api::Searcher* self, const api::Index& index, std::optional<double> k1, std::optional<double> b,
                   const std::string& idf, const std::string& scores, const std::string& scorer,
                   std::optional<double> alpha, bool early_termination, std::optional<double> query_scale,
                   const std::string& expand, const std::string& device, unsigned gpu, unsigned gpus,
                   const std::string& strategy, std::uint64_t gpu_memory, const std::vector<std::string>& plans,
                   unsigned threads, std::uint64_t memory, const nb::object& warn) {
  api::Scoring scoring;
  scoring.k1 = k1;
  scoring.b = b;
  scoring.idf = named(idfs, idf, "idf");
  scoring.scores = named(all_scores, scores, "scores");
  scoring.scorer = named(scorers, scorer, "scorer");
  scoring.alpha = alpha;
  scoring.early_termination = early_termination;
  scoring.query_scale = query_scale;
  scoring.expand = expand;
  Opening opening(device, gpu, gpus, gpu_memory, plans, threads, memory, warn);
  opening.placement.strategy = strategy;
  const nb::gil_scoped_release without_gil;
  new (self) api::Searcher(index, scoring, opening.placement, opening.work);
}

/// A query of a Python program, as the library takes it.
class AskedQuery {
 public:
  explicit AskedQuery(const nb::object& query)
      : vector_(PyDict_Check(query.ptr()) ? TermVector(query) : TermVector()),
        query_(PyDict_Check(query.ptr()) ? api::Query(vector_.view()) : text_of(query, "a query")) {}

  const api::Query& get() const { return query_; }

 private:
  TermVector vector_;
  api::Query query_;
};

/// The results of a query, found by the calling thread.
Results search(const api::Searcher& searcher, const nb::object& query, std::size_t k, std::string_view algorithm,
               const api::Filter* filter, std::optional<double> budget_us, std::optional<double> blocks_left_out) {
  const AskedQuery asked(query);
  const nb::gil_scoped_release without_gil;
  Results results{searcher.index(), {}};
  api::SearchStatistics& statistics = results.found.statistics;
  const std::vector<api::Hit> hits =
      searcher.search(asked.get(), k, algorithm, &statistics, filter, {budget_us, blocks_left_out});
  if (budget_us || blocks_left_out) results.found.bounds_left = {statistics.bound_left};
  results.found.offsets = {0, hits.size()};
  results.found.docids.reserve(hits.size());
  results.found.scores.reserve(hits.size());
  for (const api::Hit& hit : hits) {
    results.found.docids.push_back(hit.docid);
    results.found.scores.push_back(hit.score);
  }
  return results;
}

std::map<std::string, double> terms(const api::Searcher& searcher, const nb::object& query, std::string_view algorithm,
                                    const api::Filter* filter) {
  const AskedQuery asked(query);
  const nb::gil_scoped_release without_gil;
  const auto found = searcher.terms(asked.get(), algorithm, filter);
  return {found.begin(), found.end()};
}

Results batch(const api::Searcher& searcher, const nb::object& queries, std::size_t k, const std::string& algorithm,
              unsigned threads, const nb::object& progress, const api::Filter* filter, std::optional<double> budget_us,
              std::optional<double> blocks_left_out) {
  const QueryList list(queries);
  DirectWork work({threads, 0, progress, nb::none()});
  return {searcher.index(), work.finish([&] {
            return searcher.batch(list.queries(), {k, algorithm, filter, {budget_us, blocks_left_out}}, work.work());
          })};
}

void make_intersector(api::Intersector* self, const api::Index& index, const std::string& method,
                      const std::string& device, unsigned gpu, unsigned gpus, std::uint64_t gpu_memory,
                      const std::vector<std::string>& plans, unsigned threads, std::uint64_t memory,
                      const nb::object& warn) {
  const Opening opening(device, gpu, gpus, gpu_memory, plans, threads, memory, warn);
  const nb::gil_scoped_release without_gil;
  new (self) api::Intersector(index, method, opening.placement, opening.work);
}

Results intersect(const api::Intersector& intersector, const nb::object& queries, unsigned threads,
                  const nb::object& progress, const api::Filter* filter) {
  const QueryList list(queries);
  DirectWork work({threads, 0, progress, nb::none()});
  return {intersector.index(), work.finish([&] { return intersector.batch(list.queries(), filter, work.work()); })};
}

api::Filter filter_matching(const api::Index& index, const std::string& expression, unsigned threads) {
  InterruptibleWork work({threads, 0, nb::none(), nb::none()});
  return work.finish([&] { return api::Filter::matching(index, expression, work.work()); });
}

api::Filter filter_of_docnos(const api::Index& index, const nb::object& docnos) {
  return api::Filter::of_docnos(index, TextList(docnos, "a docno").views());
}

}  // namespace

void bind_searcher(nb::module_& module) {
  nb::class_<api::Searcher>(module, "Searcher", "Answers queries over an index in one way. Many threads may search.")
      .def("__init__", &make_searcher, "index"_a, nb::kw_only(), "k1"_a = nb::none(), "b"_a = nb::none(),
           "idf"_a = "lucene", "scores"_a = "exact", "scorer"_a = "bm25", "alpha"_a = nb::none(),
           "early_termination"_a = true, "query_scale"_a = nb::none(), "expand"_a = "", "device"_a = "cpu", "gpu"_a = 0,
           "gpus"_a = 1, "strategy"_a = "", "gpu_memory"_a = 0, "plan"_a = std::vector<std::string>(), "threads"_a = 0,
           "memory"_a = 0, "warn"_a = nb::none())
      .def("search", &search, "query"_a, "k"_a = 10, "algorithm"_a = "", "filter"_a = nb::none(),
           "budget_us"_a = nb::none(), "blocks_left_out"_a = nb::none(),
           "The k best documents for a query, a str or a dict of terms and weights, found by this thread on the CPU.")
      .def("terms", &terms, "query"_a, "algorithm"_a = "", "filter"_a = nb::none(),
           "The terms and weights of a query as they are searched for: expanded, if the searcher does that.")
      .def("batch", &batch, "queries"_a, "k"_a = 10, "algorithm"_a = "", "threads"_a = 0, "progress"_a = nb::none(),
           "filter"_a = nb::none(), "budget_us"_a = nb::none(), "blocks_left_out"_a = nb::none(),
           "The results of many queries, on the searcher's device. Ctrl-C stops it.");
  nb::class_<api::Intersector>(module, "Intersector", "Finds all documents with all terms. Many threads may use it.")
      .def("__init__", &make_intersector, "index"_a, nb::kw_only(), "method"_a = "", "device"_a = "cpu", "gpu"_a = 0,
           "gpus"_a = 1, "gpu_memory"_a = 0, "plan"_a = std::vector<std::string>(), "threads"_a = 0, "memory"_a = 0,
           "warn"_a = nb::none())
      .def("batch", &intersect, "queries"_a, "threads"_a = 0, "progress"_a = nb::none(), "filter"_a = nb::none(),
           "The documents of many queries, on the intersector's device. Ctrl-C stops it.");
  nb::class_<api::Filter>(module, "Filter",
                          "A set of documents to which results are restricted; len() is their number.")
      .def("__len__", &api::Filter::count);
  module.def("filter_matching", &filter_matching, "index"_a, "expression"_a, "threads"_a = 0);
  module.def("filter_of_docnos", &filter_of_docnos, "index"_a, "docnos"_a);
  module.def(
      "filter_of_docids",
      [](const api::Index& index, const std::vector<std::uint32_t>& docids) {
        return api::Filter::of_docids(index, docids);
      },
      "index"_a, "docids"_a);
  module.def("algorithms", &api::algorithms, "The names of query algorithms, the default first.");
  module.def("strategies", &api::strategies, "The names of GPU strategies, the default first.");
}

}  // namespace quern::python
