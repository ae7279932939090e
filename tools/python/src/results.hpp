#pragma once
#include <nanobind/nanobind.h>
#include <quern/api/quern.hpp>

#include <string>
#include <vector>

namespace quern::python {

/// Results of one query or many, with the index that they are of.
struct Results {
  api::Index index;
  api::BatchResults found;
};

/// Adds the class to the module.
void bind_results(nanobind::module_& module);

}  // namespace quern::python
