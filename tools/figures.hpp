#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/formats/tables/cost_file.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/search/query_statistics.hpp"

#include "command.hpp"

/// Figures that several commands print.
namespace quern::tools {

/// A JSON string of a text; invalid UTF-8 is replaced.
std::string json_text(std::string_view text);

/// mean_us, p50_us, p90_us, p95_us, p99_us, p999_us, max_us.
Json times_json(const LatencySummary& times);
/// How far lists were read, from the queries' shortest lists to their eighth and the longer ones: a row each.
Json depths_json(const QueryStatistics& counts);

/// Counts and times, and the shares of kernel time of the three stages of Huang et al., section 4.2: initialization
/// finds the postings of each docID range (here: decodes lists to entries), scoring turns them into candidates of the
/// range, merging selects the k results.
Json gpu_json(const GpuStatistics& statistics);

/// The lists that were resident when batches needed them, those that were copied, and GPU memory by use.
Json gpu_lists_json(const gpu::ListCacheCounts& lists, double copy_us);
Json gpu_memory_json(const gpu::MemoryTable& memory);

/// Where the time of a run went, and what was unpacked.
Json gpu_statistics_json(const GpuIntersectionStatistics& statistics);

// Files of query times and of costs that commands read.

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
