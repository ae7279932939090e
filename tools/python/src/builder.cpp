#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <quern/api/quern.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "work.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace quern::python {
namespace {

/// A value to keep: a text, which is valid as long as the object, a boolean or a number. Raises TypeError for anything
/// else, and OverflowError for an integer that is no double.
api::KeptValue kept_value(const nb::object& value, const std::string& field) {
  if (PyUnicode_Check(value.ptr())) return text_of(value, field.c_str());
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyFloat_Check(value.ptr())) return PyFloat_AsDouble(value.ptr());
  if (!PyIndex_Check(value.ptr())) {
    PyErr_Format(PyExc_TypeError, "the field %s is kept, so it must be a str, a number or a bool, not %R",
                 field.c_str(), reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())));
    throw nb::python_error();
  }
  const nb::object integer = nb::steal(PyNumber_Index(value.ptr()));
  if (!integer.is_valid()) throw nb::python_error();
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
  if (overflow == 0) return number;
  const double large = PyLong_AsDouble(integer.ptr());
  if (large == -1.0 && PyErr_Occurred()) throw nb::python_error();
  return large;
}

/// Reads a document's fields from a dict, or from the attributes of anything else, such as a namedtuple. The first name
/// that is there, and not None, counts.
class DocumentFields {
 public:
  /// `kept`: names of fields whose values are kept.
  explicit DocumentFields(const std::vector<std::string>& kept) : kept_names_(kept) {
    for (const std::string& kept_name : kept_names_) kept_keys_.push_back(name(kept_name.c_str()));
  }

  /// Valid until the next call. Raises TypeError for a field that is no text and a kept one that has no value that can
  /// be kept, and KeyError without a docno.
  api::NewDocument read(nb::handle document) {
    is_dict_ = PyDict_Check(document.ptr());
    for (nb::object& held : held_) held.reset();
    api::NewDocument fields;
    fields.docno = find(document, docno_names_, 0, "docno");
    if (!held_[0].is_valid()) {
      PyErr_Format(PyExc_KeyError, "a document has none of docno, doc_id, id and _id: %R", document.ptr());
      throw nb::python_error();
    }
    fields.text = find(document, text_names_, 1, "text");
    fields.title = find(document, title_names_, 2, "title");
    fields.url = find(document, url_names_, 3, "url");
    if (const nb::object vector = look_up_first(document, vector_names_); vector.is_valid()) {
      vector_ = TermVector(vector);
      fields.vector = vector_.view();
    }
    if (!held_[1].is_valid() && !is_dict_) fields.text = default_text(document);
    read_kept(document);
    fields.fields = kept_;
    return fields;
  }

 private:
  template <std::size_t count>
  using Names = std::array<nb::object, count>;

  static nb::object name(const char* text) {
    PyObject* const interned = PyUnicode_InternFromString(text);
    if (interned == nullptr) throw nb::python_error();
    return nb::steal(interned);
  }

  nb::object look_up(nb::handle document, const nb::object& field) const {
    if (is_dict_) {
      PyObject* const found = PyDict_GetItemWithError(document.ptr(), field.ptr());
      if (found == nullptr && PyErr_Occurred()) throw nb::python_error();
      return nb::borrow(found);
    }
    PyObject* const found = PyObject_GetAttr(document.ptr(), field.ptr());
    if (found != nullptr) return nb::steal(found);
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
    PyErr_Clear();
    return {};
  }

  /// What the first of the names is, if one is there; else not valid.
  template <std::size_t count>
  nb::object look_up_first(nb::handle document, const Names<count>& names) const {
    for (const nb::object& field : names)
      if (nb::object found = look_up(document, field); found.is_valid() && !found.is_none()) return found;
    return {};
  }

  template <std::size_t count>
  std::string_view find(nb::handle document, const Names<count>& names, std::size_t place, const char* what) {
    nb::object found = look_up_first(document, names);
    if (!found.is_valid()) return {};
    if (place == 0 && PyLong_Check(found.ptr())) found = nb::str(found);
    held_[place] = std::move(found);
    return text_of(held_[place], what);
  }

  /// Those that are missing, or None, have no value.
  void read_kept(nb::handle document) {
    kept_.clear();
    kept_held_.clear();
    for (std::size_t i = 0; i < kept_keys_.size(); ++i) {
      nb::object found = look_up(document, kept_keys_[i]);
      if (!found.is_valid() || found.is_none()) continue;
      kept_.push_back({kept_names_[i], kept_value(found, kept_names_[i])});
      kept_held_.push_back(std::move(found));
    }
  }

  /// What ir_datasets offers for documents with fields of other names.
  std::string_view default_text(nb::handle document) {
    const nb::object method = look_up(document, default_text_);
    if (!method.is_valid()) return {};
    held_[1] = method();
    return text_of(held_[1], "default_text()");
  }

  const Names<4> docno_names_ = {name("docno"), name("doc_id"), name("id"), name("_id")};
  const Names<3> text_names_ = {name("text"), name("contents"), name("body")};
  const Names<1> title_names_ = {name("title")};
  const Names<1> url_names_ = {name("url")};
  const Names<2> vector_names_ = {name("vector"), name("toks")};
  const nb::object default_text_ = name("default_text");
  bool is_dict_ = false;
  std::array<nb::object, 4> held_;  ///< what the fields are views of
  TermVector vector_;
  std::vector<std::string> kept_names_;
  std::vector<nb::object> kept_keys_, kept_held_;
  std::vector<api::KeptField> kept_;
};

nb::dict to_dict(const api::IndexReport& report) {
  nb::dict out;
  out["documents"] = report.documents;
  out["empty"] = report.empty;
  out["skipped"] = report.skipped;
  out["bad"] = report.bad;
  out["left_out"] = report.left_out;
  out["duplicates"] = report.duplicates;
  out["terms"] = report.terms;
  out["tokens"] = report.tokens;
  out["postings"] = report.postings;
  out["index_bytes"] = report.index_bytes;
  out["bad_documents"] = report.bad_documents;
  return out;
}

/// Builds an index from an iterable. Whatever is raised, the builder goes, and nothing is left of the index.
nb::dict index_documents(const nb::object& documents, const std::string& path, const api::IndexOptions& options,
                         unsigned threads, std::uint64_t memory, const nb::object& progress, const nb::object& warn) {
  DocumentFields fields(options.keep_fields);
  const nb::object items = nb::steal(PyObject_GetIter(documents.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  InterruptibleWork work({threads, memory, progress, warn});
  // Its threads may call functions that need the GIL, also while it ends.
  struct WithoutGil {
    void operator()(api::IndexBuilder* builder) const {
      const nb::gil_scoped_release without_gil;
      delete builder;
    }
  };
  std::unique_ptr<api::IndexBuilder, WithoutGil> builder(new api::IndexBuilder(path, options, work.work()));
  constexpr std::uint64_t between_looks = 1024;  // an iterable that runs no Python code looks for no signals itself
  for (std::uint64_t added = 0; PyObject* const next = PyIter_Next(items.ptr()); ++added) {
    const nb::object item = nb::steal(next);
    if (added % between_looks == 0 && PyErr_CheckSignals() != 0) throw nb::python_error();
    const api::NewDocument document = fields.read(item);
    const nb::gil_scoped_release without_gil;
    try {
      builder->add(document);
    } catch (const std::exception&) {
      {
        const nb::gil_scoped_acquire with_gil;
        work.rethrow();
      }
      throw;
    }
  }
  if (PyErr_Occurred()) throw nb::python_error();
  return to_dict(work.finish([&] { return builder->finish(); }));
}

nb::dict index_corpus(const std::vector<std::string>& corpus, const std::string& path, const api::IndexOptions& options,
                      const api::CorpusOptions& reading, unsigned threads, std::uint64_t memory,
                      const nb::object& progress, const nb::object& warn) {
  InterruptibleWork work({threads, memory, progress, warn});
  return to_dict(work.finish([&] { return api::build_index(corpus, path, options, reading, work.work()); }));
}

}  // namespace

void bind_builder(nb::module_& module) {
  nb::class_<api::IndexOptions>(module, "IndexOptions", "Options of an index.")
      .def(nb::init<>())
      .def_rw("stemmer", &api::IndexOptions::stemmer)
      .def_rw("stopwords", &api::IndexOptions::stopwords)
      .def_rw("codec", &api::IndexOptions::codec)
      .def_rw("block_size", &api::IndexOptions::block_size)
      .def_rw("recursion", &api::IndexOptions::recursion)
      .def_rw("order", &api::IndexOptions::order)
      .def_rw("seed", &api::IndexOptions::seed)
      .def_rw("pagerank", &api::IndexOptions::pagerank)
      .def_rw("links", &api::IndexOptions::links)
      .def_rw("alpha", &api::IndexOptions::alpha)
      .def_rw("pagerank_scale", &api::IndexOptions::pagerank_scale)
      .def_rw("k1", &api::IndexOptions::k1)
      .def_rw("b", &api::IndexOptions::b)
      .def_rw("quantize_bits", &api::IndexOptions::quantize_bits)
      .def_rw("impact_bits", &api::IndexOptions::impact_bits)
      .def_rw("impact_scale", &api::IndexOptions::impact_scale)
      .def_rw("keep_fields", &api::IndexOptions::keep_fields)
      .def_rw("store_text", &api::IndexOptions::store_text)
      .def_rw("forward", &api::IndexOptions::forward)
      .def_rw("refuse_duplicates", &api::IndexOptions::refuse_duplicates)
      .def_rw("max_errors", &api::IndexOptions::max_errors)
      .def_rw("overwrite", &api::IndexOptions::overwrite);
  nb::class_<api::CorpusOptions>(module, "CorpusOptions", "How the files of a corpus are read.")
      .def(nb::init<>())
      .def_rw("format", &api::CorpusOptions::format)
      .def_rw("include", &api::CorpusOptions::include)
      .def_rw("exclude", &api::CorpusOptions::exclude)
      .def_rw("id_field", &api::CorpusOptions::id_field)
      .def_rw("title_field", &api::CorpusOptions::title_field)
      .def_rw("text_field", &api::CorpusOptions::text_field)
      .def_rw("url_field", &api::CorpusOptions::url_field)
      .def_rw("vector_field", &api::CorpusOptions::vector_field)
      .def_rw("max_document_bytes", &api::CorpusOptions::max_document_bytes)
      .def_rw("skip_bad", &api::CorpusOptions::skip_bad)
      .def_rw("languages", &api::CorpusOptions::languages)
      .def_rw("drop_copies", &api::CorpusOptions::drop_copies);
  module.def("index_documents", &index_documents, "documents"_a, "path"_a, "options"_a, "threads"_a = 0, "memory"_a = 0,
             "progress"_a = nb::none(), "warn"_a = nb::none());
  module.def("index_corpus", &index_corpus, "corpus"_a, "path"_a, "options"_a, "reading"_a, "threads"_a = 0,
             "memory"_a = 0, "progress"_a = nb::none(), "warn"_a = nb::none());
}

}  // namespace quern::python
