#pragma once
#include <nlohmann/json.hpp>

#include "quern/core/types.hpp"

/// Figures that are printed as JSON and in tables, and the environment in which they are measured.
namespace quern {

/// The environment of a measurement, without which figures can't be compared: processor (empty if unknown), cores of
/// this process, memory_bytes of the machine, system, compiler, build (type and flags), simd_level, version, date
/// (UTC), command_line, and load_average over 1, 5 and 15 minutes (-1 if unknown).
nlohmann::ordered_json describe_environment();

/// A figure of a row: a value of a JSON object and, if it has a head, a cell of a table.
struct Figure {
  std::string key;  ///< a path such as "measured/mean_us"; empty: not in JSON
  nlohmann::ordered_json value;
  std::string head = {};  ///< of the column; empty: not in tables
  const char* format = "{}";
  double scale = 1;  ///< of numbers in tables
};
using FigureRow = std::vector<Figure>;

nlohmann::ordered_json to_json(const FigureRow& row);
/// Appends `more` to the row.
void append(FigureRow& row, const FigureRow& more);

}  // namespace quern
