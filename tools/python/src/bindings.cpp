#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace quern::python {
namespace {

/// Raises quern.errors.error(code, text, option).
void raise(const api::Error& error) {
  try {
    const nb::object made =
        nb::module_::import_("quern.errors").attr("error")(api::name_of(error.code()), error.what(), error.option());
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (nb::python_error& failed) {
    failed.restore();
  }
}

/// A view of a vector that the results own.
template <class Number>
nb::ndarray<nb::numpy, const Number, nb::ndim<1>, nb::c_contig> view_of(const std::vector<Number>& numbers,
                                                                        nb::handle owner) {
  return {numbers.data(), {numbers.size()}, owner};
}

std::vector<std::int32_t> query_column(const api::BatchResults& found) {
  std::vector<std::int32_t> queries(found.docids.size());
  for (std::size_t query = 0; query + 1 < found.offsets.size(); ++query)
    for (std::uint64_t i = found.offsets[query]; i < found.offsets[query + 1]; ++i)
      queries[i] = static_cast<std::int32_t>(query);
  return queries;
}

std::vector<std::int32_t> rank_column(const api::BatchResults& found) {
  std::vector<std::int32_t> ranks(found.docids.size());
  for (std::size_t query = 0; query + 1 < found.offsets.size(); ++query)
    for (std::uint64_t i = found.offsets[query]; i < found.offsets[query + 1]; ++i)
      ranks[i] = static_cast<std::int32_t>(i - found.offsets[query]);
  return ranks;
}

nb::list docnos_of(const Results& results) {
  nb::list docnos;
  for (const std::uint32_t docid : results.found.docids) docnos.append(results.index.docno(docid));
  return docnos;
}

std::string trec_run(const Results& results, const nb::object& qids, const std::string& tag) {
  const TextList ids(qids, "a query's id");
  const api::BatchResults& found = results.found;
  if (ids.views().size() + 1 != found.offsets.size()) throw nb::value_error("ids and queries differ in number");
  std::string text;
  const nb::gil_scoped_release without_gil;
  for (std::size_t query = 0; query + 1 < found.offsets.size(); ++query) {
    const std::size_t from = found.offsets[query], size = found.offsets[query + 1] - from;
    api::append_trec_run(text, results.index, ids.views()[query], std::span(found.docids).subspan(from, size),
                         std::span(found.scores).subspan(from, size), tag);
  }
  return text;
}

/// Results from elsewhere. Raises ValueError if the arrays don't match, or a docID doesn't exist.
Results found_of(const api::Index& index, const std::vector<std::uint64_t>& counts, std::vector<std::uint32_t> docids,
                 std::vector<float> scores) {
  Results results{index, {}};
  results.found.offsets.push_back(0);
  for (const std::uint64_t count : counts) {
    if (count > docids.size() - results.found.offsets.back())
      throw nb::value_error("docids has fewer values than the sum of counts");
    results.found.offsets.push_back(results.found.offsets.back() + count);
  }
  if (results.found.offsets.back() != docids.size() || scores.size() != docids.size())
    throw nb::value_error("counts, docids and scores do not match");
  for (const std::uint32_t docid : docids)
    if (docid >= index.num_documents()) throw nb::value_error("a docid is not less than the number of documents");
  results.found.docids = std::move(docids);
  results.found.scores = std::move(scores);
  results.found.statistics.queries = counts.size();
  return results;
}

nb::dict statistics_of(const Results& results) {
  using S = api::SearchStatistics;
  return to_dict(results.found.statistics, Field{"queries", &S::queries}, Field{"postings", &S::postings},
                 Field{"postings_scored", &S::postings_scored}, Field{"blocks", &S::blocks},
                 Field{"blocks_decoded", &S::blocks_decoded}, Field{"stopped_early", &S::stopped_early},
                 Field{"on_gpu", &S::on_gpu}, Field{"unproven", &S::unproven});
}

}  // namespace

void translate_errors() {
  nb::register_exception_translator([](const std::exception_ptr& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (const api::Error& error) {
      raise(error);
    }
  });
}

void bind_results(nb::module_& module) {
  module.def("found_of", &found_of, "index"_a, "counts"_a, "docids"_a, "scores"_a);
  nb::class_<Results>(module, "Found", "The results: arrays that the object owns.")
      .def_prop_ro(
          "docid", [](nb::handle_t<Results> self) { return view_of(nb::cast<Results&>(self).found.docids, self); },
          nb::rv_policy::reference, "docIDs, uint32, query after query, best first.")
      .def_prop_ro(
          "score", [](nb::handle_t<Results> self) { return view_of(nb::cast<Results&>(self).found.scores, self); },
          nb::rv_policy::reference, "Scores, float32, of the same shape as docid.")
      .def_prop_ro(
          "offsets", [](nb::handle_t<Results> self) { return view_of(nb::cast<Results&>(self).found.offsets, self); },
          nb::rv_policy::reference, "uint64: the results of query i are at [offsets[i], offsets[i + 1]).")
      .def_prop_ro(
          "query", [](const Results& self) { return to_array(query_column(self.found)); }, nb::rv_policy::reference,
          "int32: the index of each result's query in the batch, from 0.")
      .def_prop_ro(
          "rank", [](const Results& self) { return to_array(rank_column(self.found)); }, nb::rv_policy::reference,
          "int32: each result's rank, from 0.")
      .def("docnos", &docnos_of, "The documents' names: a list of str, of the same length as docid.")
      .def("trec_run", &trec_run, "qids"_a, "tag"_a = "quern",
           "The results as text of a TREC run, as `quern query` prints them.")
      .def_prop_ro("statistics", &statistics_of, "The work done to find them, as a dict of counts.")
      .def_prop_rw(
          "bounds_left", [](const Results& self) { return self.found.bounds_left; },
          [](Results& self, std::vector<std::optional<float>> bounds) { self.found.bounds_left = std::move(bounds); },
          "With a budget: of each query, the highest upper bound of a document that was left out; None: exact.")
      .def("__len__", [](const Results& self) { return self.found.docids.size(); });
}

TermVector::TermVector(const nb::object& vector) {
  if (!PyDict_Check(vector.ptr())) {
    PyErr_Format(PyExc_TypeError, "a vector must be a dict of terms and weights, not %R",
                 reinterpret_cast<PyObject*>(Py_TYPE(vector.ptr())));
    throw nb::python_error();
  }
  const nb::object items = nb::steal(PyDict_Items(vector.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  for (const nb::handle item : nb::cast<nb::list>(items)) {
    const nb::object term = nb::borrow(nb::cast<nb::tuple>(item)[0]);
    const nb::object weight = nb::borrow(nb::cast<nb::tuple>(item)[1]);
    const std::string_view text = text_of(term, "a term");
    const double number = PyFloat_AsDouble(weight.ptr());
    if (number == -1.0 && PyErr_Occurred()) {
      if (PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_Format(PyExc_TypeError, "the weight of %R must be a number, not %R", term.ptr(), weight.ptr());
      throw nb::python_error();
    }
    kept_.push_back(term);
    terms_.push_back({text, number});
  }
}

std::string_view text_of(nb::handle object, const char* what) {
  if (!PyUnicode_Check(object.ptr())) {
    PyErr_Format(PyExc_TypeError, "%s must be a str, not %R", what, reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
    throw nb::python_error();
  }
  Py_ssize_t size = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (bytes == nullptr) throw nb::python_error();
  return {bytes, static_cast<std::size_t>(size)};
}

void raise_wrong_value(const char* name, const char* kind, nb::handle value) {
  const nb::object made = nb::module_::import_("quern.errors").attr("wrong_value")(name, kind, value);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

nb::object decoded(std::string_view bytes, const char* errors) {
  PyObject* const text = PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), errors);
  if (text == nullptr) throw nb::python_error();
  return nb::steal(text);
}

namespace {

/// A copy of a sequence, which its owner can't change.
nb::object tuple_of(const nb::object& sequence, const char* what) {
  if (PyUnicode_Check(sequence.ptr()) || PyBytes_Check(sequence.ptr())) {
    PyErr_Format(PyExc_TypeError, "%s must be a sequence of str, not a single text", what);
    throw nb::python_error();
  }
  nb::object tuple = nb::steal(PySequence_Tuple(sequence.ptr()));
  if (!tuple.is_valid()) throw nb::python_error();
  return tuple;
}

}  // namespace

TextList::TextList(const nb::object& texts, const char* what) : kept_(tuple_of(texts, what)) {
  views_.reserve(nb::len(kept_));
  for (const nb::handle text : nb::borrow<nb::tuple>(kept_)) views_.push_back(text_of(text, what));
}

QueryList::QueryList(const nb::object& queries) : kept_(tuple_of(queries, "queries")) {
  const auto all = nb::borrow<nb::tuple>(kept_);
  const bool are_vectors = all.size() > 0 && PyDict_Check(nb::object(all[0]).ptr());
  queries_.reserve(all.size());
  for (const nb::handle query : all)
    if (are_vectors)
      queries_.emplace_back(vectors_.emplace_back(nb::borrow(query)).view());
    else
      queries_.emplace_back(text_of(query, "a query"));
}

namespace {

/// A Python object that threads without the GIL may hold and release.
std::shared_ptr<nb::object> shared(const nb::object& object) {
  return {new nb::object(object), [](nb::object* held) {
            const nb::gil_scoped_acquire with_gil;
            delete held;
          }};
}

}  // namespace

void set_callbacks(api::Work& work, const WorkArguments& arguments, const std::shared_ptr<CallerFailure>& failure) {
  if (arguments.progress.is_valid() && !arguments.progress.is_none())
    work.progress = [call = shared(arguments.progress), failure](const api::ProgressStep& step) {
      failure->run([&] { (*call)(step.stage, step.done, step.total, step.unit); });
    };
  if (arguments.warn.is_valid() && !arguments.warn.is_none())
    work.warn = [call = shared(arguments.warn), failure](const std::string& text) {
      failure->run([&] { (*call)(text); });
    };
}

void CallerFailure::keep(std::exception_ptr raised) {
  const std::lock_guard lock(mutex_);
  if (!raised_) raised_ = std::move(raised);
}

void CallerFailure::rethrow() {
  std::exception_ptr raised;
  {
    const std::lock_guard lock(mutex_);
    raised = std::exchange(raised_, nullptr);
  }
  if (raised) std::rethrow_exception(raised);
}

InterruptibleWork::InterruptibleWork(const WorkArguments& arguments) {
  work_.threads = arguments.threads;
  work_.memory_bytes = arguments.memory;
  work_.stop = stop_.get_token();
  set_callbacks(work_, arguments, failure_);
}

DirectWork::DirectWork(const WorkArguments& arguments) {
  work_.threads = arguments.threads;
  work_.memory_bytes = arguments.memory;
  set_callbacks(work_, arguments, failure_);
  work_.progress = [tell = std::move(work_.progress), failure = failure_](const api::ProgressStep& step) {
    failure->run([] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    });
    if (tell) tell(step);
  };
}

bool InterruptibleWork::has_signal() {
  const nb::gil_scoped_acquire with_gil;
  return PyErr_CheckSignals() != 0;
}

}  // namespace quern::python

/// quern._quern: the module behind the package (tools/python/quern).
NB_MODULE(_quern, module) {
  using namespace quern::python;
  translate_errors();
  bind_index(module);
  bind_results(module);
  bind_searcher(module);
  bind_builder(module);
  bind_second_stage(module);
  bind_tools(module);
}
