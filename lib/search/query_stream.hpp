#pragma once
#include <chrono>
#include <exception>
#include <thread>

#include "quern/formats/queries/query_file.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/io/file.hpp"
#include "quern/search/batch_collector.hpp"

namespace quern {

/// Queries that arrive over time, one per line and uncompressed, from a file or a pipe that may stay open. A thread
/// reads them as they arrive and a BatchCollector cuts them into batches.
class QueryStream {
 public:
  /// Reads the file `path`, or standard input if it is "-"; messages call it `name`. `format` must have one query per
  /// line. A batch has at most `max_queries` queries and waits at most `wait`; all queries in memory take at most
  /// `memory_bytes`, plus a few MiB for the longest ones. Throws like QueryLineParser for other formats, and IoError if
  /// the file can't be opened.
  QueryStream(const std::string& path, const std::string& name, QueryFormat format, std::size_t max_queries,
              std::chrono::milliseconds wait, std::uint64_t memory_bytes);
  /// Stops reading, even while waiting for input.
  ~QueryStream();
  QueryStream(const QueryStream&) = delete;
  QueryStream& operator=(const QueryStream&) = delete;

  /// Waits for the next batch; empty at the end of input. An error in the input is thrown after all queries before it
  /// have been returned.
  std::vector<Query> next();
  /// Ends the input; any thread may call it.
  void stop() noexcept;

 private:
  using Collector = BatchCollector<Query>;

  void read_all();
  void refuse_compressed(std::string_view head) const;
  void take_line(std::string_view line);
  /// Waits for input and returns the number of bytes read; 0 at the end of input and once the object is destroyed.
  std::size_t read_some(std::span<char> to) const;

  std::optional<File> file_;  ///< empty: standard input
  std::string name_;
  QueryLineParser parser_;
  Collector collector_;
  ReadInterrupt interrupt_;
  std::exception_ptr thrown_;  ///< set by the reading thread before it finishes the collector
  std::thread thread_;
};

/// Finds repeated query ids in bounded memory: compares the 64-bit hash of each id with that of the previous one and of
/// the first max_ids distinct ones.
class RepeatedIds {
 public:
  static constexpr std::size_t max_ids = std::size_t{1} << 17;

  /// Records an id; returns whether it is a repetition.
  bool is_repeated(std::string_view id);

 private:
  std::vector<std::uint64_t> slots_;  ///< a hash table, at most half full; 0 is an empty slot
  std::size_t num_ids_ = 0;
  std::uint64_t last_ = 0;  ///< hash of the previous id
};

}  // namespace quern
