#include <array>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace quern::python {
namespace {

/// A value to keep: a string (valid as long as the object), a boolean or a number. Raises TypeError for anything else,
/// and OverflowError for an integer that does not fit in a double.
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
/// with a value other than None counts.
class DocumentFields {
 public:
  /// `kept`: names of fields whose values are kept.
  explicit DocumentFields(const std::vector<std::string>& kept) : kept_names_(kept) {
    for (const std::string& kept_name : kept_names_) kept_keys_.push_back(name(kept_name.c_str()));
  }

  /// Valid until the next call. Raises TypeError for a field that is not a str and for a value that can't be kept, and
  /// KeyError without a docno.
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

  /// The value of the first name that the document has; not valid if it has none.
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

  /// Fields that are missing, or None, have no value.
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

  /// The text that ir_datasets offers for documents with fields of other names.
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
  std::array<nb::object, 4> held_;  ///< objects that the fields are views of
  TermVector vector_;
  std::vector<std::string> kept_names_;
  std::vector<nb::object> kept_keys_, kept_held_;
  std::vector<api::KeptField> kept_;
};

nb::dict counts_of(const api::IndexReport& report) {
  using R = api::IndexReport;
  return to_dict(report, Field{"documents", &R::documents}, Field{"empty", &R::empty}, Field{"skipped", &R::skipped},
                 Field{"bad", &R::bad}, Field{"left_out", &R::left_out}, Field{"duplicates", &R::duplicates},
                 Field{"terms", &R::terms}, Field{"tokens", &R::tokens}, Field{"postings", &R::postings},
                 Field{"index_bytes", &R::index_bytes}, Field{"bad_documents", &R::bad_documents});
}

/// Builds an index from an iterable. If anything is raised, nothing remains of the index.
nb::dict index_documents(const nb::object& documents, const std::string& path, const api::IndexOptions& options,
                         unsigned threads, std::uint64_t memory, const nb::object& progress, const nb::object& warn) {
  DocumentFields fields(options.keep_fields);
  const nb::object items = nb::steal(PyObject_GetIter(documents.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  InterruptibleWork work({threads, memory, progress, warn});
  // Its threads may call functions that need the GIL, even in its destructor.
  struct WithoutGil {
    void operator()(api::IndexBuilder* builder) const {
      const nb::gil_scoped_release without_gil;
      delete builder;
    }
  };
  std::unique_ptr<api::IndexBuilder, WithoutGil> builder(new api::IndexBuilder(path, options, work.work()));
  constexpr std::uint64_t between_looks = 1024;  // an iterable without Python code does not check for signals itself
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
  return counts_of(work.finish([&] { return builder->finish(); }));
}

nb::dict index_corpus(const std::vector<std::string>& corpus, const std::string& path, const api::IndexOptions& options,
                      const api::CorpusOptions& reading, unsigned threads, std::uint64_t memory,
                      const nb::object& progress, const nb::object& warn) {
  InterruptibleWork work({threads, memory, progress, warn});
  return counts_of(work.finish([&] { return api::build_index(corpus, path, options, reading, work.work()); }));
}

}  // namespace

void bind_builder(nb::module_& module) {
  using O = api::IndexOptions;
  nb::class_<O> options(module, "IndexOptions", "Options of an index.");
  options.def(nb::init<>());
  bind_members(options, Field{"stemmer", &O::stemmer}, Field{"stopwords", &O::stopwords}, Field{"codec", &O::codec},
               Field{"block_size", &O::block_size}, Field{"recursion", &O::recursion}, Field{"order", &O::order},
               Field{"seed", &O::seed}, Field{"pagerank", &O::pagerank}, Field{"links", &O::links},
               Field{"alpha", &O::alpha}, Field{"pagerank_scale", &O::pagerank_scale}, Field{"k1", &O::k1},
               Field{"b", &O::b}, Field{"quantize_bits", &O::quantize_bits}, Field{"impact_bits", &O::impact_bits},
               Field{"impact_scale", &O::impact_scale}, Field{"keep_fields", &O::keep_fields},
               Field{"store_text", &O::store_text}, Field{"forward", &O::forward},
               Field{"refuse_duplicates", &O::refuse_duplicates}, Field{"max_errors", &O::max_errors},
               Field{"overwrite", &O::overwrite});
  using C = api::CorpusOptions;
  nb::class_<C> reading(module, "CorpusOptions", "How the files of a corpus are read.");
  reading.def(nb::init<>());
  bind_members(
      reading, Field{"format", &C::format}, Field{"include", &C::include}, Field{"exclude", &C::exclude},
      Field{"files_from", &C::files_from}, Field{"files_root", &C::files_root}, Field{"id_field", &C::id_field},
      Field{"title_field", &C::title_field}, Field{"text_field", &C::text_field}, Field{"url_field", &C::url_field},
      Field{"vector_field", &C::vector_field}, Field{"max_document_bytes", &C::max_document_bytes},
      Field{"skip_bad", &C::skip_bad}, Field{"languages", &C::languages}, Field{"drop_copies", &C::drop_copies});
  module.def("index_documents", &index_documents, "documents"_a, "path"_a, "options"_a, "threads"_a = 0, "memory"_a = 0,
             "progress"_a = nb::none(), "warn"_a = nb::none());
  module.def("index_corpus", &index_corpus, "corpus"_a, "path"_a, "options"_a, "reading"_a, "threads"_a = 0,
             "memory"_a = 0, "progress"_a = nb::none(), "warn"_a = nb::none());
}

}  // namespace quern::python
