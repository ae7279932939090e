#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/search/query_stream.hpp"
#include "quern/search/search_backend.hpp"

#include "query_options.hpp"
#include "query_shards.hpp"
#include "result_text.hpp"
#include "run_statistics.hpp"
#include "second_stage.hpp"

namespace quern::tools {

/// What a run works with. All of it must outlive the run.
struct QueryRunParts {
  const Resources& resources;
  SearchBackend& backend;
  const QueryReader& reader;
  SearchRequest request;            ///< but for its queries
  const SecondStage* second_stage;  ///< null: there is none
  std::size_t k;                    ///< results of a query that are written
  const RunFormat& format;
  const ResultText& result_text;
  TextOutput& out;
  QueryShards& shards;
};

/// Answers queries and writes their results.
class QueryRun {
 public:
  explicit QueryRun(const QueryRunParts& parts) : parts_(parts), statistics_(parts.resources.tmp_folder) {}

  /// Writes what comes before all results, and after them.
  void begin();
  void end();
  /// Writes the answers to these queries, in their order.
  void answer(const std::vector<Query>& queries);
  /// The same for queries as they arrive; `note` looks at each batch first. `max_begun`: as answer_stream().
  void answer(QueryStream& stream, std::size_t max_begun,
              const std::function<void(const std::vector<Query>& queries)>& note);

  RunStatistics& statistics() { return statistics_; }

 private:
  /// What is done with the answers to these queries.
  AnswerConsumer consumer(const std::vector<Query>& queries);
  ParsedQueries read(const std::vector<Query>& queries) const;
  /// Writes many results.
  void write_long(const Query& query, std::span<const ScoredDocument> documents);

  QueryRunParts parts_;
  RunStatistics statistics_;
};

/// What answers that wait for their turn may take in memory.
inline std::uint64_t held_bytes(const Resources& resources) { return resources.memory_bytes / 16; }

}  // namespace quern::tools
