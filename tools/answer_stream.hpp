#pragma once
#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "quern/query/query_stream.hpp"

#include "query_processors.hpp"

namespace quern::tools {

/// Queries of a stream that arrived together, and that processors may work on already.
struct StreamBatch {
  std::vector<Query> queries;
  std::vector<std::string_view> texts;
  QueryProcessors::Begun begun;
};

/// Begins the batches of a stream as they arrive, in a thread of its own, so that processors work on several, and calls
/// `finish` for each in this thread, in their order. About `most_begun` batches, at least 1, are begun at a time. An
/// error in the stream is thrown after all queries before it have been finished; what `finish` throws ends the reading.
void answer_stream(QueryStream& stream, QueryProcessors& processors, std::size_t most_begun,
                   const std::function<void(StreamBatch& batch)>& finish);

}  // namespace quern::tools
