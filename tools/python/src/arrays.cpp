#include "arrays.hpp"

namespace nb = nanobind;

namespace quern::python {

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
    const double number = PyFloat_AsDouble(weight.ptr());
    if (number == -1.0 && PyErr_Occurred()) throw nb::python_error();
    kept_.push_back(term);
    terms_.push_back({text_of(term, "a term"), number});
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

}  // namespace quern::python
