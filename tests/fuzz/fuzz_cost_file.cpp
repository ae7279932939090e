#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "quern/core/error.hpp"
#include "quern/formats/tables/query_times.hpp"

/// Any bytes give functions that predict a finite cost for any query and survive a write and a re-read unchanged, or a
/// library error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const quern::CostTable table = quern::parse_cost_table({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const quern::CostFunction& function : table.functions)
      for (const double x : {0.0, 7.0, 64.0})
        if (!std::isfinite(function.tree.at({x, x, x, x, 0}))) std::abort();
    const std::string text = quern::cost_table_text(table);
    if (quern::cost_table_text(quern::parse_cost_table(text, "again")) != text) std::abort();
  } catch (const quern::Error&) {
  }
  return 0;
}
