#pragma once
#include "quern/io/spool.hpp"

namespace quern {

/// Sorts any number of (key, payload) rows by the bytes of their keys within a memory budget: writes sorted runs to
/// disk and merges them. Rows with equal keys keep the order in which they were added.
class ExternalSort {
 public:
  /// A budget of less than 1 MiB counts as 1 MiB.
  ExternalSort(const std::string& tmp_folder, std::uint64_t memory_bytes);
  ExternalSort(ExternalSort&&) noexcept;
  ~ExternalSort();

  void add(std::string_view key, ByteView payload);
  std::uint64_t count() const { return count_; }
  /// Calls visit(key, payload) for all rows in order; the views are valid during the call. Call once.
  void merge(const std::function<void(std::string_view, ByteView)>& visit);

  /// An iterator-style alternative to merge(): call begin_merge() once, then next_row() until it returns false. key()
  /// and payload() belong to the last row found.
  void begin_merge();
  bool next_row();
  std::string_view key() const;
  ByteView payload() const;

 private:
  struct Row {
    std::uint64_t prefix;  ///< the key's first eight bytes, as a number with the same order
    std::uint64_t offset;  ///< of the row, in bytes_
  };
  class RunReader;
  class RunMerge;
  void sort_rows();
  void spill();

  std::uint64_t memory_bytes_;
  std::uint64_t count_ = 0;
  Bytes bytes_;
  std::vector<Row> rows_;
  SpooledRuns runs_;
  std::size_t next_row_ = 0;         ///< index in rows_ during the merge
  std::unique_ptr<RunMerge> merge_;  ///< merges spilled rows
};

/// The number at byte `at` of a SortKey.
template <class Number>
Number number_in_key(std::string_view key, std::size_t at) {
  Number number = 0;
  for (const char byte : key.substr(at, sizeof number))
    number = static_cast<Number>(number << 8 | static_cast<std::uint8_t>(byte));
  return number;
}

/// Big-endian numbers, whose bytes sort as the numbers do: keys for ExternalSort.
template <class... Numbers>
class SortKey {
 public:
  explicit SortKey(Numbers... numbers) {
    std::uint8_t* to = bytes_;
    (put(to, numbers), ...);
  }
  std::string_view view() const { return {reinterpret_cast<const char*>(bytes_), sizeof bytes_}; }

 private:
  template <class Number>
  static void put(std::uint8_t*& to, Number number) {
    for (std::size_t i = sizeof number; i-- > 0;) *to++ = static_cast<std::uint8_t>(number >> (8 * i));
  }

  std::uint8_t bytes_[(sizeof(Numbers) + ...)];
};

}  // namespace quern
