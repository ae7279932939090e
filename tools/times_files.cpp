#include "times_files.hpp"

#include "quern/io/byte_source.hpp"
#include "quern/schedule/cost_model.hpp"

namespace quern::tools {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;

}  // namespace

std::vector<QueryTimeTable> read_times(const std::vector<std::string>& paths) {
  std::vector<QueryTimeTable> times;
  for (const std::string& path : paths) times.push_back(parse_query_times(read_whole(path, max_bytes), path));
  return times;
}

CostTable read_costs(const std::string& path, const std::vector<QueryTimeTable>& times) {
  CostTable table = parse_cost_table(read_whole(path, max_bytes), path);
  std::vector<TimesOrigin> origins(times.begin(), times.end());
  origins.push_back(table);
  check_same_origin(origins);
  return table;
}

}  // namespace quern::tools
