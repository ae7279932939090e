#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

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

/// Whether a value stands for a missing one: NaN of any type, pandas.NA or pandas.NaT.
bool is_missing(nb::handle value) {
  if (PyUnicode_Check(value.ptr()) || PyLong_Check(value.ptr())) return false;
  const nb::object type = nb::steal(PyType_GetName(Py_TYPE(value.ptr())));
  if (const std::string_view name = text_of(type, "a type's name"); name == "NAType" || name == "NaTType") return true;
  if (PyFloat_Check(value.ptr())) return std::isnan(PyFloat_AsDouble(value.ptr()));
  if (!PyNumber_Check(value.ptr())) return false;
  const nb::object differs = nb::steal(PyObject_RichCompare(value.ptr(), value.ptr(), Py_NE));
  const int is_nan = differs.is_valid() ? PyObject_IsTrue(differs.ptr()) : -1;
  if (is_nan < 0) PyErr_Clear();  // of an array, for example
  return is_nan == 1;
}

/// Puts a document's number and docno before the message of an exception about it.
void add_place(nb::python_error& raised, std::uint64_t number, std::string_view docno) {
  std::string place = "document number " + std::to_string(number);
  if (!docno.empty()) place += " (docno '" + std::string(docno) + "')";
  nb::handle exception = raised.value();
  const nb::object given = nb::getattr(exception, "args");
  const bool is_own = raised.matches(PyExc_TypeError) || raised.matches(PyExc_ValueError) ||
                      raised.matches(PyExc_KeyError) || raised.matches(PyExc_OverflowError);
  if (is_own && nb::len(given) == 1)
    exception.attr("args") = nb::make_tuple(nb::str("{}: {}").format(place, given[0]));
  else if (nb::hasattr(exception, "reason"))  // of a UnicodeEncodeError
    exception.attr("reason") = nb::str("{}, in {}").format(exception.attr("reason"), place);
  else
    exception.attr("add_note")("In " + place);
}

/// The names of documents' fields, and what to do about missing values.
struct FieldChoice {
  std::string docno, title, text, url, vector;  ///< empty: the known names
  bool missing_is_empty = false;                ///< a missing text, title or URL is empty, not an error
};

/// Reads a document's fields from a dict, or from the attributes of anything else, such as a namedtuple. The first name
/// with a value other than None counts.
class DocumentFields {
 public:
  /// `kept`: names of fields whose values are kept. `takes_vectors`: given weights are indexed, not texts.
  DocumentFields(const FieldChoice& choice, const std::vector<std::string>& kept, bool takes_vectors)
      : docno_names_(names(choice.docno, {"docno", "doc_id", "id", "_id"})),
        text_names_(names(choice.text, {"text", "contents", "body", "content"})),
        title_names_(names(choice.title, {"title"})),
        url_names_(names(choice.url, {"url"})),
        vector_names_(names(choice.vector, {"vector", "toks"})),
        takes_default_text_(choice.text.empty()),
        missing_is_empty_(choice.missing_is_empty),
        takes_vectors_(takes_vectors),
        kept_names_(kept) {
    for (const std::string& kept_name : kept_names_) kept_keys_.push_back(name(kept_name.c_str()));
  }

  /// Valid until the next call. Raises TypeError for a field that is not a str and for a value that can't be kept,
  /// ValueError for a missing value, and KeyError without a docno; their messages name the document.
  api::NewDocument read(nb::handle document) {
    ++number_;
    api::NewDocument fields;
    try {
      read_into(document, fields);
    } catch (nb::python_error& raised) {
      add_place(raised, number_, fields.docno);
      throw;
    }
    return fields;
  }
  /// What the caller may miss in documents whose text has no known name; empty: nothing.
  std::string remark() const {
    return num_whole_ > 1 ? remark_ + " (" + std::to_string(num_whole_) + " documents in total)" : remark_;
  }

 private:
  using Names = std::vector<nb::object>;

  static nb::object name(const char* text) {
    PyObject* const interned = PyUnicode_InternFromString(text);
    if (interned == nullptr) throw nb::python_error();
    return nb::steal(interned);
  }

  static Names names(const std::string& chosen, std::initializer_list<const char*> known) {
    if (!chosen.empty()) return {name(chosen.c_str())};
    Names found;
    for (const char* one : known) found.push_back(name(one));
    return found;
  }

  void read_into(nb::handle document, api::NewDocument& fields) {
    is_dict_ = PyDict_Check(document.ptr());
    for (nb::object& held : held_) held.reset();
    fields.docno = docno_of(document);
    fields.title = find(document, title_names_, 1, "its title");
    fields.url = find(document, url_names_, 2, "its URL");
    const nb::object vector = look_up_first(document, vector_names_);
    if (vector.is_valid()) {
      vector_ = TermVector(vector);
      fields.vector = vector_.view();
    } else if (takes_vectors_) {
      PyErr_SetString(PyExc_ValueError,
                      "it has no vector, which impacts needs; that of a document without terms is {}");
      throw nb::python_error();
    }
    const nb::object method = is_dict_ || !takes_default_text_ ? nb::object() : look_up(document, default_text_);
    if (method.is_valid()) {
      fields.text = default_text(method, fields.title);
    } else {
      fields.text = find(document, text_names_, 0, "its text");
      if (!held_[0].is_valid() && !vector.is_valid()) fields.text = whole_text(document, fields.docno);
      if (!held_[0].is_valid() && !fields.vector.empty() && !takes_vectors_ && fields.title.empty()) {
        PyErr_SetString(PyExc_ValueError,
                        "it has a vector, but no text; vectors are indexed with impacts=8, for example");
        throw nb::python_error();
      }
    }
    read_kept(document);
    fields.fields = kept_;
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
  nb::object look_up_first(nb::handle document, const Names& names) const {
    for (const nb::object& field : names)
      if (nb::object found = look_up(document, field); found.is_valid() && !found.is_none()) return found;
    return {};
  }

  /// A str, or an integer or bytes of any type, such as a scalar of numpy.
  std::string_view docno_of(nb::handle document) {
    nb::object found = look_up_first(document, docno_names_);
    if (!found.is_valid()) {
      const std::string known = nb::cast<std::string>(nb::str(", ").attr("join")(nb::cast(docno_names_)));
      PyErr_Format(PyExc_KeyError, "a document has none of %s: %R", known.c_str(), document.ptr());
      throw nb::python_error();
    }
    if (PyBytes_Check(found.ptr()))
      found = found.attr("decode")();
    else if (!PyUnicode_Check(found.ptr()) && PyIndex_Check(found.ptr()))
      found = nb::str(nb::steal(PyNumber_Index(found.ptr())));
    held_[3] = std::move(found);
    if (PyUnicode_Check(held_[3].ptr())) return text_of(held_[3], "its docno");
    PyErr_Format(is_missing(held_[3]) ? PyExc_ValueError : PyExc_TypeError,
                 "its docno must be a str or an integer, not %R", held_[3].ptr());
    throw nb::python_error();
  }

  std::string_view find(nb::handle document, const Names& names, std::size_t place, const char* what) {
    nb::object found = look_up_first(document, names);
    if (!found.is_valid()) return {};
    held_[place] = std::move(found);
    return text(place, what);
  }

  /// The text of a str, or of a list or tuple of them, each of which is a phrase.
  std::string_view text(std::size_t place, const char* what) {
    nb::object& value = held_[place];
    if (PyUnicode_Check(value.ptr())) return text_of(value, what);
    if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
      joined_[place].clear();
      append_texts(value, what, joined_[place]);
      return joined_[place];
    }
    if (!is_missing(value)) return text_of(value, what);
    if (missing_is_empty_) return {};
    PyErr_Format(PyExc_ValueError, "%s is %R, a missing value; fill it in, or take it for empty with missing='empty'",
                 what, value.ptr());
    throw nb::python_error();
  }

  /// Appends the texts in lists, tuples and dicts. Other values are skipped, or refused if `what` names the field.
  static void append_texts(nb::handle value, const char* what, std::string& out) {
    if (PyDict_Check(value.ptr())) return append_texts(nb::steal(PyDict_Values(value.ptr())), what, out);
    if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
      for (const nb::handle one : value) append_texts(one, what, out);
    } else if (what != nullptr || PyUnicode_Check(value.ptr())) {
      const std::string_view text = text_of(value, what);
      if (!out.empty() && !text.empty()) out += "\n\n";
      out += text;
    }
  }

  /// All texts of a document without a known one, except for its other fields.
  std::string_view whole_text(nb::handle document, std::string_view docno) {
    std::string& out = joined_[0];
    out.clear();
    const nb::object members = members_of(document);
    if (!members.is_valid()) return {};
    std::string names;
    for (const nb::handle member : members) {
      const nb::object key(member[0]);
      const std::size_t before = out.size();
      if (!is_field(key)) append_texts(nb::object(member[1]), nullptr, out);
      if (out.size() > before) names += (names.empty() ? "" : ", ") + nb::cast<std::string>(nb::repr(key));
    }
    if (!names.empty() && num_whole_++ == 0)
      remark_ = "document number " + std::to_string(number_) + " (docno '" + std::string(docno) +
                "') has no text under " + nb::cast<std::string>(nb::str(", ").attr("join")(nb::cast(text_names_))) +
                "; the texts under " + names + " are indexed instead; name the right one with text_field";
    return out;
  }

  /// The names and values of a document; not valid for objects that don't list them.
  nb::object members_of(nb::handle document) const {
    if (is_dict_) return nb::steal(PyDict_Items(document.ptr()));
    if (nb::hasattr(document, "_asdict")) return document.attr("_asdict")().attr("items")();
    if (nb::hasattr(document, "__dict__")) return document.attr("__dict__").attr("items")();
    return {};
  }

  /// Whether a name is that of a field other than the text, or of a kept one.
  bool is_field(const nb::object& key) const {
    const auto has = [&key](const Names& names) {
      return std::any_of(names.begin(), names.end(), [&](const nb::object& one) { return one.equal(key); });
    };
    return has(docno_names_) || has(title_names_) || has(url_names_) || has(vector_names_) || has(kept_keys_);
  }

  /// Fields that are absent, None, or what pandas writes for a missing value have no value.
  void read_kept(nb::handle document) {
    kept_.clear();
    kept_held_.clear();
    for (std::size_t i = 0; i < kept_keys_.size(); ++i) {
      nb::object found = look_up(document, kept_keys_[i]);
      if (!found.is_valid() || found.is_none() || is_missing(found)) continue;
      if (!PyUnicode_Check(found.ptr()) && nb::hasattr(found, "item")) found = found.attr("item")();  // of numpy
      kept_.push_back({kept_names_[i], kept_value(found, kept_names_[i])});
      kept_held_.push_back(std::move(found));
    }
  }

  /// What ir_datasets calls the text of its documents, without the title that it begins with: the title is a field.
  std::string_view default_text(const nb::object& method, std::string_view title) {
    held_[0] = method();
    if (held_[0].is_none()) return {};
    std::string_view all = text(0, "its default_text()");
    if (all.starts_with(title)) all.remove_prefix(title.size());
    return all;
  }

  const Names docno_names_, text_names_, title_names_, url_names_, vector_names_;
  const bool takes_default_text_, missing_is_empty_, takes_vectors_;
  const nb::object default_text_ = name("default_text");
  std::uint64_t number_ = 0;  ///< of the current document, from 1
  std::string remark_;        ///< on the first document whose text has no known name
  std::uint64_t num_whole_ = 0;
  bool is_dict_ = false;
  std::array<nb::object, 4> held_;     ///< objects that the fields are views of: text, title, URL, docno
  std::array<std::string, 3> joined_;  ///< texts of several
  TermVector vector_;
  std::vector<std::string> kept_names_;
  Names kept_keys_, kept_held_;
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
                         const FieldChoice& choice, unsigned threads, std::uint64_t memory, const nb::object& progress,
                         const nb::object& warn) {
  DocumentFields fields(choice, options.keep_fields, options.impact_bits > 0);
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
  if (const std::string remark = fields.remark(); !remark.empty() && !warn.is_none()) warn(remark);
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
  bind_members(options, Field{"language", &O::language}, Field{"stemmer", &O::stemmer},
               Field{"stopwords", &O::stopwords}, Field{"codec", &O::codec}, Field{"block_size", &O::block_size},
               Field{"recursion", &O::recursion}, Field{"order", &O::order}, Field{"seed", &O::seed},
               Field{"pagerank", &O::pagerank}, Field{"links", &O::links}, Field{"alpha", &O::alpha},
               Field{"pagerank_scale", &O::pagerank_scale}, Field{"k1", &O::k1}, Field{"b", &O::b},
               Field{"quantize", &O::quantize_bits}, Field{"weights", &O::weights}, Field{"impacts", &O::impact_bits},
               Field{"impact_scale", &O::impact_scale}, Field{"keep_fields", &O::keep_fields},
               Field{"store_text", &O::store_text}, Field{"forward", &O::forward},
               Field{"allow_empty", &O::allow_empty}, Field{"refuse_duplicates", &O::refuse_duplicates},
               Field{"max_errors", &O::max_errors}, Field{"overwrite", &O::overwrite});
  using C = api::CorpusOptions;
  nb::class_<C> reading(module, "CorpusOptions", "How the files of a corpus are read.");
  reading.def(nb::init<>());
  bind_members(
      reading, Field{"format", &C::format}, Field{"include", &C::include}, Field{"exclude", &C::exclude},
      Field{"files_from", &C::files_from}, Field{"files_root", &C::files_root}, Field{"id_field", &C::id_field},
      Field{"title_field", &C::title_field}, Field{"text_field", &C::text_field}, Field{"url_field", &C::url_field},
      Field{"vector_field", &C::vector_field}, Field{"max_document", &C::max_document_bytes},
      Field{"skip_bad", &C::skip_bad}, Field{"languages", &C::languages}, Field{"drop_copies", &C::drop_copies});
  nb::class_<FieldChoice> choice(module, "FieldChoice", "The names of documents' fields.");
  choice.def(nb::init<>());
  bind_members(choice, Field{"id_field", &FieldChoice::docno}, Field{"title_field", &FieldChoice::title},
               Field{"text_field", &FieldChoice::text}, Field{"url_field", &FieldChoice::url},
               Field{"vector_field", &FieldChoice::vector}, Field{"missing_is_empty", &FieldChoice::missing_is_empty});
  module.def("index_documents", &index_documents, "documents"_a, "path"_a, "options"_a, "choice"_a, "threads"_a = 0,
             "memory"_a = 0, "progress"_a = nb::none(), "warn"_a = nb::none());
  module.def("index_corpus", &index_corpus, "corpus"_a, "path"_a, "options"_a, "reading"_a, "threads"_a = 0,
             "memory"_a = 0, "progress"_a = nb::none(), "warn"_a = nb::none());
}

}  // namespace quern::python
