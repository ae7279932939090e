#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern {

/// Finds ids of queries that occur again, in memory that does not grow with their number: each id is compared with the
/// one before it and with the first max_ids different ones, by 64-bit hashes.
class RepeatedIds {
 public:
  static constexpr std::size_t max_ids = std::size_t{1} << 17;

  /// Notes an id. Whether it is one of those that it is compared with.
  bool is_repeated(std::string_view id);

 private:
  std::vector<std::uint64_t> slots_;  ///< a hash table, at most half full; 0 is an empty slot
  std::size_t num_ids_ = 0;
  std::uint64_t last_ = 0;  ///< hash of the id before
};

}  // namespace quern
