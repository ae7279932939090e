#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/formats/queries/run_file.hpp"
#include "quern/gpu/failover.hpp"

#include "command.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"
#include "result_fields.hpp"
#include "second_stage.hpp"

/// `quern query` over all shards of an index.
namespace quern::tools {

struct ShardedQuery {
  const CommonOptions& common;
  const IndexShards& shards;
  const QuerySource& queries;
  const ScoringArguments& scoring;
  const std::optional<std::string>& filter;
  QueryDevice device;
  const GpuOptions& gpu;
  const GpuMemoryArguments& gpu_memory;
  const std::string &strategy, &algorithm;
  std::size_t k;
  const SecondStageArguments& second_stage;
  std::optional<unsigned> batch_wait_ms;  ///< queries arrive over time
  const RunFormat& format;
  const ResultFields* fields;  ///< null: none were asked for
  bool on_terminal;
  const std::string &tag, &output, &stats;

  /// Results of the first stage.
  std::size_t first_k() const { return second_stage.wanted() ? second_stage.rerank : k; }
};

/// Writes the run over the whole, byte for byte.
void run_sharded_query(const ShardedQuery& query);

}  // namespace quern::tools
