#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/io/file.hpp"

namespace quern {

/// Sorts any number of (key, payload) rows by the bytes of their keys within a memory budget: rows gather in memory,
/// go to disk as sorted runs, and are merged. Rows with equal keys keep the order in which they were added.
class ExternalSort {
 public:
  ExternalSort(std::string tmp_folder, std::uint64_t memory_bytes);

  void add(std::string_view key, ByteView payload);
  /// Calls visit(key, payload) for all rows in order; views hold during the call. To be called once.
  void merge(const std::function<void(std::string_view, ByteView)>& visit);

 private:
  struct Row {
    std::uint64_t prefix;  ///< the key's first eight bytes, as a number that sorts as they do
    std::uint64_t offset;  ///< of the row in bytes_
  };
  /// A sorted run: bytes [begin, end) of the work file. One file holds all, since processes may open only so many.
  struct Run {
    std::uint64_t begin, end;
  };
  class RunScan;
  void spill();
  void merge_runs(std::span<const Run> runs, const std::function<void(std::string_view, ByteView)>& visit) const;

  std::string tmp_folder_;
  std::uint64_t memory_bytes_;
  Bytes bytes_;
  std::vector<Row> rows_;
  std::optional<File> file_;
  std::vector<Run> runs_;
};

}  // namespace quern
