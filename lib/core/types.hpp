#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Basic types, used throughout Quern, and the standard headers that most files need.
namespace quern {

/// DocID: a document's number in an index or a collection, dense, 0 to N-1.
using docid_t = std::uint32_t;
/// Term ID: a term's position in the lexicon, which is sorted by bytes.
using term_t = std::uint32_t;
/// How often a term occurs in a document; at least 1 in a posting.
using freq_t = std::uint32_t;

/// A cursor's docid() after its last posting; no document has this docID.
inline constexpr docid_t end_docid = std::numeric_limits<docid_t>::max();

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

/// The program's version, as written to manifests.
const char* version();

/// The first number in [low, high) for which `holds` is false, else high; it must be true for all numbers before that
/// one and false from there on. (clang 14 doesn't compile std::views::iota of GCC 12.)
template <class Holds>
std::uint64_t first_without(std::uint64_t low, std::uint64_t high, Holds holds) {
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    holds(middle) ? low = middle + 1 : high = middle;
  }
  return low;
}

}  // namespace quern
