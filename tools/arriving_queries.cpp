#include "arriving_queries.hpp"

#include <chrono>

namespace quern::tools {

ArrivingQueries::ArrivingQueries(const QuerySource& source, const CommonOptions& options, std::size_t batch_queries,
                                 unsigned wait_ms, std::uint64_t memory_bytes)
    : stream_(source.file, source_name(source.file), source.format, batch_queries, std::chrono::milliseconds(wait_ms),
              memory_bytes),
      remarks_(options, source.format) {}

void ArrivingQueries::look_at(const std::vector<Query>& batch) {
  for (const Query& query : batch) {
    remarks_.look_at(query.text);
    remarks_.look_at_id(query.id);
  }
}

}  // namespace quern::tools
