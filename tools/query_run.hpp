#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/search/batch_collector.hpp"
#include "quern/search/query_stream.hpp"
#include "quern/search/search_backend.hpp"

#include "query_options.hpp"
#include "query_shards.hpp"
#include "result_fields.hpp"
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

/// Queries of a stream that arrived together, and what was begun of them.
template <class Begun>
struct StreamBatch {
  std::vector<Query> queries;
  Begun begun;
};

/// Begins the batches of a stream as they arrive, in a thread of its own, so that several are worked on: begin(queries)
/// returns a Begun. Calls finish(StreamBatch<Begun>&) for each in this thread, in their order. About `max_begun`
/// batches, at least 1, are begun at a time. An error in the stream is thrown after all queries before it have been
/// finished; what `finish` throws ends the reading.
template <class Begun, class Begin, class Finish>
void answer_stream(QueryStream& stream, std::size_t max_begun, Begin&& begin, Finish&& finish) {
  using Batch = StreamBatch<Begun>;
  using BegunBatches = BatchCollector<std::unique_ptr<Batch>>;
  // It holds twice as many as it hands over at a time.
  BegunBatches begun(std::max<std::size_t>(1, max_begun / 2), typename BegunBatches::Clock::duration(0));
  std::exception_ptr error;
  std::jthread reader([&] {
    try {
      for (std::vector<Query> queries = stream.next(); !queries.empty(); queries = stream.next()) {
        auto batch = std::make_unique<Batch>();
        batch->queries = std::move(queries);
        batch->begun = begin(batch->queries);
        // They are not taken any more.
        if (!begun.push(std::move(batch))) break;
      }
    } catch (...) {
      error = std::current_exception();
    }
    begun.finish();
  });
  try {
    for (auto some = begun.take(); !some.empty(); some = begun.take())
      for (const std::unique_ptr<Batch>& batch : some) finish(*batch);
  } catch (...) {
    stream.stop();
    begun.close();
    throw;
  }
  reader.join();
  if (error) std::rethrow_exception(error);
}

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
