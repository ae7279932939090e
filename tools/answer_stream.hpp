#pragma once
#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "quern/search/batch_collector.hpp"
#include "quern/search/query_stream.hpp"

namespace quern::tools {

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

}  // namespace quern::tools
