#pragma once
#include <nanobind/nanobind.h>

namespace quern::python {

/// Makes quern.errors' classes of the library's errors, chosen by their codes.
void translate_errors();

}  // namespace quern::python
