#pragma once
#include <nanobind/nanobind.h>

/// The module's parts: each adds its classes and functions.
namespace quern::python {

void bind_index(nanobind::module_& module);
void bind_searcher(nanobind::module_& module);
void bind_builder(nanobind::module_& module);
void bind_second_stage(nanobind::module_& module);
void bind_tools(nanobind::module_& module);

}  // namespace quern::python
