#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/formats/index_file.hpp"
#include "quern/formats/tables/cost_file.hpp"
#include "quern/formats/tables/query_times.hpp"

/// Files of query times and of costs that commands read.
namespace quern::tools {

/// Reads all files. Throws IoError or CorruptFile.
std::vector<QueryTimeTable> read_times(const std::vector<std::string>& paths);

/// Reads costs that are to predict these times. Throws InvalidArgument if they are of another index, scoring, CPU or
/// GPU; otherwise as read_times().
CostTable read_costs(const std::string& path, const std::vector<QueryTimeTable>& times);
/// Where times of this index are measured on this machine, with the GPU of that number, if any. Throws CudaError or
/// InvalidArgument without such a GPU.
TimesOrigin origin_here(const IndexReader& index, std::optional<unsigned> gpu);
/// Reads costs that are to predict queries there. Throws likewise.
CostTable read_costs(const std::string& path, const TimesOrigin& here);

}  // namespace quern::tools
