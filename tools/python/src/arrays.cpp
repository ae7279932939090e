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

}  // namespace quern::python

namespace nb = nanobind;

namespace quern::python {

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

TextList::TextList(const nb::object& texts, const char* what) {
  if (PyUnicode_Check(texts.ptr()) || PyBytes_Check(texts.ptr())) {
    PyErr_Format(PyExc_TypeError, "%s must be a sequence of str, not a single text", what);
    throw nb::python_error();
  }
  kept_ = nb::steal(PySequence_Tuple(texts.ptr()));
  if (!kept_.is_valid()) throw nb::python_error();
  const std::size_t size = nb::len(kept_);
  views_.reserve(size);
  for (std::size_t i = 0; i < size; ++i)
    views_.push_back(text_of(PyTuple_GetItem(kept_.ptr(), static_cast<Py_ssize_t>(i)), what));
}

}  // namespace quern::python
