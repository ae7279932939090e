#pragma once
#include <vector>

#include "quern/search/query_stream.hpp"

#include "query_options.hpp"
#include "query_remarks.hpp"

namespace quern::tools {

/// Queries of --batch-wait, which arrive over time.
class ArrivingQueries {
 public:
  /// A batch has at most `batch_queries`, and waits `wait_ms` milliseconds for them; queries that wait take at most
  /// `memory_bytes`.
  ArrivingQueries(const QuerySource& source, const CommonOptions& options, std::size_t batch_queries, unsigned wait_ms,
                  std::uint64_t memory_bytes);

  QueryStream& stream() { return stream_; }
  /// Makes remarks on a batch, before it is answered.
  void look_at(const std::vector<Query>& batch);

 private:
  QueryStream stream_;
  QueryRemarks remarks_;
};

}  // namespace quern::tools
