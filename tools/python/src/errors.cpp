#include "errors.hpp"

#include <nanobind/stl/string.h>
#include <quern/api/error.hpp>

namespace nb = nanobind;

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

}  // namespace quern::python
