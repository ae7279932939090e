#include "quern/core/named.hpp"

#include <fmt/format.h>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

/// Letters inserted, deleted or replaced, and neighbours exchanged, between two names (Damerau and Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      rows[i][j] = std::max(i, j);
      if (i == 0 || j == 0) continue;
      const std::size_t replaced = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      rows[i][j] = std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows.back().back();
}

}  // namespace

std::string nearest_name(const std::vector<std::string>& names, std::string_view wrong) {
  constexpr std::size_t too_far = 3;
  std::size_t smallest = too_far;
  std::string nearest;
  for (const std::string& name : names) {
    if (std::max(name.size(), wrong.size()) - std::min(name.size(), wrong.size()) >= too_far) continue;
    const std::size_t distance = edit_distance(ascii_lowered(name), ascii_lowered(wrong));
    if (distance < smallest && 2 * distance < wrong.size()) {
      smallest = distance;
      nearest = name;
    }
  }
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

}  // namespace quern
