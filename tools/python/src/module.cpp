#include <nanobind/nanobind.h>

#include "bindings.hpp"

/// quern._quern: the module behind the package (tools/python/quern).
NB_MODULE(_quern, module) {
  using namespace quern::python;
  translate_errors();
  bind_index(module);
  bind_results(module);
  bind_searcher(module);
  bind_builder(module);
  bind_second_stage(module);
  bind_tools(module);
}
