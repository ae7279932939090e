#pragma once
#include "quern/api/internal/second_stage.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/gpu/device/gpu_statistics.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/query_statistics.hpp"
#include "quern/search/query_stream.hpp"
#include "quern/search/search_backend.hpp"

#include "command.hpp"
#include "query_options.hpp"
#include "result_fields.hpp"

namespace quern::tools {

/// What a run's queries were answered with, as --stats names it.
struct RunSettings {
  std::string_view algorithm;
  std::size_t k;
  std::size_t rerank;  ///< documents of a query in the second stage; 0: there is none
  unsigned threads;
};

/// The times and counts of a run's queries, for --stats.
class RunStatistics {
 public:
  explicit RunStatistics(const std::string& tmp_folder) : times_us_(tmp_folder) {}

  void add(const QueryAnswer& answer) {
    counts_ += answer.statistics;
    times_us_.add(answer.time_us);
  }
  /// What GPUs did, for each shard, and how queries were shared with the CPU.
  void add(const QueryBackend& backend);

  std::uint64_t queries() const { return times_us_.count(); }
  /// Settings, times, counts, and the work of GPUs if there were any. `reranker`: null if no GPU reranked. `seconds` is
  /// the time of all queries together.
  Json json(const RunSettings& settings, const QueryEngine& engine, const gpu::GpuReranker* reranker,
            double seconds) const;
  /// Times and counts for people, a line or two.
  std::vector<std::string> lines(const QueryEngine& engine, unsigned threads, double seconds) const;

 private:
  double rate(double seconds) const;

  QueryStatistics counts_;
  LatencyLog times_us_;
  GpuStatistics gpu_;
  std::vector<GpuStatistics> shards_;  ///< of each
  std::optional<HybridFigures> hybrid_;
};

/// What a run works with. All of it must outlive the run.
struct QueryRunParts {
  const Resources& resources;
  SearchBackend& backend;
  const QueryReader& reader;
  SearchRequest request;                 ///< but for its queries
  const api::SecondStage* second_stage;  ///< null: there is none
  std::size_t k;                         ///< results of a query that are written
  const RunFormat& format;
  const ResultText& result_text;
  TextOutput& out;
  IndexPages& pages;
};

/// Answers queries and writes their results.
class QueryRun {
 public:
  explicit QueryRun(const QueryRunParts& parts) : parts_(parts), statistics_(parts.resources.tmp_folder) {}

  /// Writes the answers to these queries, in their order.
  void answer(const std::vector<Query>& queries);
  /// Answers queries as they arrive; `note` sees each batch first. Begins about `max_begun` batches at a time, at
  /// least 1. Throws errors of the stream after it has answered the queries before them.
  void answer(QueryStream& stream, std::size_t max_begun,
              const std::function<void(const std::vector<Query>& queries)>& note);

  RunStatistics& statistics() { return statistics_; }

 private:
  /// Queries that arrived together, under way.
  struct Batch;

  std::unique_ptr<Batch> begin(std::vector<Query> queries);
  /// Writes and counts the answers to these queries.
  AnswerConsumer consumer(const std::vector<Query>& queries);
  ParsedQueries read(const std::vector<Query>& queries) const;
  /// Writes many results.
  void write_long(const Query& query, std::span<const ScoredDocument> documents);

  QueryRunParts parts_;
  RunStatistics statistics_;
};

/// Memory limit for answers that wait for their turn.
inline std::uint64_t held_bytes(const Resources& resources) { return resources.memory_bytes / 16; }

}  // namespace quern::tools
