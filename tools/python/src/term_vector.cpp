#include "term_vector.hpp"

#include "text_list.hpp"

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
