#pragma once
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
/// Reads costs that are to predict queries over this index, on this machine's CPU and the GPU of that number. Throws
/// likewise; CudaError or InvalidArgument without such a GPU.
CostTable read_costs(const std::string& path, const IndexReader& index, unsigned gpu);

}  // namespace quern::tools
