#pragma once
#include "quern/core/figures.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/tables/query_times.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/intersect/gpu_intersection.hpp"
#include "quern/plan/schedule_simulation.hpp"
#include "quern/search/query_statistics.hpp"

#include "command.hpp"

/// Figures that several commands print.
namespace quern::tools {

using Row = FigureRow;

/// mean_us, p50_us, p90_us, p95_us, p99_us, p999_us and max_us, after `path`. `heads`: of their columns; those that are
/// empty or missing have none.
Row time_figures(const LatencySummary& times, const std::vector<const char*>& heads, const char* format = "{:.1f}",
                 double scale = 1, const std::string& path = "");
/// The same in milliseconds, for responses to a stream.
inline Row response_figures(const LatencySummary& times, const std::vector<const char*>& heads,
                            const std::string& path = "") {
  return time_figures(times, heads, "{:.3f}", 1e-3, path);
}
/// How many of a stream's queries each processor answered, with keys after `path`.
Row stream_counts(const ScheduleFigures& figures, const std::string& path = "");

/// Rows as text in columns. Heads are repeated only if they change.
class FigureTable {
 public:
  void add(Row row) { rows_.push_back(std::move(row)); }
  /// The rows added since the last call.
  std::string take_text();
  /// Begins a new table.
  void end() { heads_.clear(); }

 private:
  std::vector<Row> rows_;
  std::vector<std::string> heads_;   ///< of the last table
  std::vector<std::size_t> widths_;  ///< of its columns
};

/// Counts, codec, order and bits per posting of an index, or of all its shards.
Json index_json(const IndexReader& index);
Json index_json(const IndexShards& index);
/// `part` / `whole`, or 0 if there is nothing.
template <class Part, class Whole>
double ratio(Part part, Whole whole) {
  return whole == Whole{} ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

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
