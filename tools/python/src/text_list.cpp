#include "text_list.hpp"

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
