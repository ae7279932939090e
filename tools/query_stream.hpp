#pragma once
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include "quern/formats/queries/query_file.hpp"
#include "quern/io/file.hpp"
#include "quern/query/batch_collector.hpp"

#include "query_source.hpp"

namespace quern::tools {

/// Queries that come over time, one a line and not compressed, from a file or a pipe that may stay open: a thread reads
/// them as they come and batches are handed out as BatchCollector makes them.
class QueryStream {
 public:
  /// Throws as QueryLineParser does where the source's form is none of lines, IoError where the file can't be opened.
  QueryStream(const QuerySource& source, std::size_t most, std::chrono::milliseconds wait);
  /// Ends the reading, also where it waits for more.
  ~QueryStream();
  QueryStream(const QueryStream&) = delete;
  QueryStream& operator=(const QueryStream&) = delete;

  /// Waits for the next batch; empty at the end. What was wrong with the source is thrown when all before it was handed
  /// out.
  std::vector<Query> next();

 private:
  void read_all();
  void take_line(std::string_view line);
  /// Some bytes, when there are any; 0 at the end, and when this is being destroyed.
  std::size_t read_some(std::span<char> to) const;

  std::optional<File> file_;  ///< none: standard input
  std::string name_;
  QueryLineParser parser_;
  BatchCollector<Query> collector_;
  int stop_event_ = -1;
  std::exception_ptr thrown_;  ///< by the reading thread, before it finished the collector
  std::thread thread_;
};

}  // namespace quern::tools
