#include "quern/query/algorithm.hpp"

#include <fmt/format.h>

#include "quern/core/error.hpp"

namespace quern {

const std::vector<QueryAlgorithm>& all_algorithms() {
  static const std::vector<QueryAlgorithm> algorithms = {
      {"or", "documents with any of the terms, every posting scored", false, run_or},
      {"and", "documents with all of the terms", true, run_and},
  };
  return algorithms;
}

const QueryAlgorithm& algorithm_named(std::string_view name) {
  std::string names;
  for (const QueryAlgorithm& algorithm : all_algorithms()) {
    if (algorithm.name == name) return algorithm;
    names += names.empty() ? "" : ", ";
    names += algorithm.name;
  }
  throw InvalidArgument(fmt::format("no algorithm is called '{}'; there are {}", name, names));
}

}  // namespace quern
