#include "times_files.hpp"

#include "quern/core/simd_level.hpp"
#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/failover.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/checksum.hpp"
#include "quern/plan/cost_model.hpp"

namespace quern::tools {
namespace {

constexpr std::uint64_t max_bytes = std::uint64_t{1} << 30;

/// Costs of one origin with these.
CostTable read_costs(const std::string& path, std::vector<TimesOrigin> origins) {
  CostTable table = parse_cost_table(read_whole(path, max_bytes), path);
  origins.push_back(table);
  check_same_origin(origins);
  return table;
}

}  // namespace

std::vector<QueryTimeTable> read_times(const std::vector<std::string>& paths) {
  std::vector<QueryTimeTable> times;
  for (const std::string& path : paths) times.push_back(parse_query_times(read_whole(path, max_bytes), path));
  return times;
}

CostTable read_costs(const std::string& path, const std::vector<QueryTimeTable>& times) {
  return read_costs(path, std::vector<TimesOrigin>(times.begin(), times.end()));
}

CostTable read_costs(const std::string& path, const TimesOrigin& here) {
  return read_costs(path, std::vector<TimesOrigin>{here});
}

TimesOrigin origin_here(const IndexReader& index, std::optional<unsigned> gpu) {
  TimesOrigin here;
  here.name = index.name();
  here.index_hash = hash_text(index.container().content_hash());
  here.cpu = processor_name();
  if (!gpu) return here;
  require_gpu(*gpu);
  here.gpu = list_gpus().at(*gpu).name;
  return here;
}

}  // namespace quern::tools
