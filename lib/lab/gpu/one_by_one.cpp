#include "quern/lab/gpu/one_by_one.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/lab/query_bench.hpp"

namespace quern {

LatencySummary measure_one_by_one(const StreamLog& log, unsigned repeats, const SingleSearch& search) {
  std::vector<std::vector<double>> us(log.texts.size());
  for (unsigned pass = 0; pass < repeats; ++pass) {
    for (std::size_t i = 0; i < log.texts.size(); ++i) {
      const auto begun = WallClock::now();
      const std::vector<ScoredDocument> found = search(log.texts[i]);
      us[i].push_back(us_since(begun));
      if (const auto wrong = difference(log.answers[i], found))
        throw Error(fmt::format("the answer to query {} is not that of the CPU alone: {}", i + 1, *wrong));
    }
  }
  std::vector<double> medians_us;
  for (std::vector<double>& of_query : us) {
    const auto middle = of_query.begin() + static_cast<std::ptrdiff_t>(of_query.size() / 2);
    std::nth_element(of_query.begin(), middle, of_query.end());
    medians_us.push_back(*middle);
  }
  return summarize(std::move(medians_us));
}

}  // namespace quern
