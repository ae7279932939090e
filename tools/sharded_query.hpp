#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/formats/queries/run_file.hpp"
#include "quern/gpu/failover.hpp"

#include "command.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"

/// `quern query` over all shards of an index.
namespace quern::tools {

struct ShardedQuery {
  const CommonOptions& common;
  const std::vector<std::string>& indexes;
  const QuerySource& queries;
  const ScoringArguments& scoring;
  const std::optional<std::string>& filter;
  QueryDevice device;
  const GpuOptions& gpu;
  const GpuMemoryArguments& gpu_memory;
  const std::string &strategy, &algorithm;
  std::size_t k;
  const RunFormat& format;
  bool on_terminal;
  const std::string &tag, &output, &stats;
};

/// Writes the run over the whole, byte for byte.
void run_sharded_query(const ShardedQuery& query);

}  // namespace quern::tools
