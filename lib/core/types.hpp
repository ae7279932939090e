#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// The field's basic numbers, shared by every part of Quern.
namespace quern {

/// Number of a document in an index or a collection: dense, 0 to N-1.
using docid_t = std::uint32_t;
/// Number of a term: its place in the lexicon, which is sorted by bytes.
using term_t = std::uint32_t;
/// How often a term occurs in a document; at least 1 in a posting.
using freq_t = std::uint32_t;

/// What a cursor's docid() gives after its last posting. No document has this number.
inline constexpr docid_t end_docid = std::numeric_limits<docid_t>::max();

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

/// The program's version, as the manifests of its files hold it.
const char* version();

}  // namespace quern
