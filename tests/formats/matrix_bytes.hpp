#pragma once
#include <string>
#include <utility>
#include <vector>

#include "quern/core/types.hpp"

namespace quern::testing {

/// A sparse matrix as written to a file; every number can be changed to a wrong one.
struct MatrixFile {
  std::int64_t rows = 0, columns = 0, weights = 0;
  std::vector<std::int64_t> pointers = {0};
  std::vector<std::int32_t> column_numbers;
  std::vector<float> values;

  explicit MatrixFile(std::int64_t num_columns) : columns(num_columns) {}

  MatrixFile& add(const std::vector<std::pair<std::int32_t, float>>& row) {
    for (const auto& [column, value] : row) {
      column_numbers.push_back(column);
      values.push_back(value);
    }
    weights += static_cast<std::int64_t>(row.size());
    pointers.push_back(weights);
    ++rows;
    return *this;
  }

  std::string bytes() const {
    std::string text;
    const auto append = [&text](const auto* numbers, std::size_t count) {
      text.append(reinterpret_cast<const char*>(numbers), count * sizeof *numbers);
    };
    const std::int64_t header[] = {rows, columns, weights};
    append(header, 3);
    append(pointers.data(), pointers.size());
    append(column_numbers.data(), column_numbers.size());
    append(values.data(), values.size());
    return text;
  }
};

}  // namespace quern::testing
