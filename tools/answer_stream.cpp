#include "answer_stream.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "quern/query/batch_collector.hpp"

namespace quern::tools {
namespace {

using BegunBatches = BatchCollector<std::unique_ptr<StreamBatch>>;

/// Begins all batches of a stream, unless nobody takes them any more.
void begin_all(QueryStream& stream, QueryProcessors& processors, BegunBatches& begun) {
  for (std::vector<Query> queries = stream.next(); !queries.empty(); queries = stream.next()) {
    auto batch = std::make_unique<StreamBatch>();
    batch->queries = std::move(queries);
    for (const Query& query : batch->queries) batch->texts.emplace_back(query.text);
    batch->begun = processors.begin(batch->texts);
    if (!begun.push(std::move(batch))) return;
  }
}

}  // namespace

void answer_stream(QueryStream& stream, QueryProcessors& processors, std::size_t most_begun,
                   const std::function<void(StreamBatch& batch)>& finish) {
  // It holds twice as many as it hands over at a time.
  BegunBatches begun(std::max<std::size_t>(1, most_begun / 2), BegunBatches::Clock::duration(0));
  std::exception_ptr error;
  std::jthread reader([&] {
    try {
      begin_all(stream, processors, begun);
    } catch (...) {
      error = std::current_exception();
    }
    begun.finish();
  });
  try {
    for (auto some = begun.take(); !some.empty(); some = begun.take())
      for (const std::unique_ptr<StreamBatch>& batch : some) finish(*batch);
  } catch (...) {
    stream.stop();
    begun.close();
    throw;
  }
  reader.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace quern::tools
