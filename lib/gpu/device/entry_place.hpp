#pragma once
#include <cstdint>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/gpu/device/tuning.hpp"

namespace quern::gpu {

/// The number of ranges of docIDs in a collection.
constexpr std::uint32_t num_ranges(docid_t num_documents) {
  return static_cast<std::uint32_t>((std::uint64_t{num_documents} + range_documents - 1) / range_documents);
}

/// Where a decoded list is in the arena of the strategy `range`: an entry per posting, where ranges of documents start
/// in the list, and the greatest value in each range.
struct EntryPlace {
  std::uint64_t first_entry = 0;     ///< of posting `begin`; a multiple of 4, since four entries are read at once
  std::uint64_t first_start = 0;     ///< of ranges + 1 starts, which as many maxima as there are ranges follow
  std::uint32_t begin = 0, end = 0;  ///< postings that have entries: all, or those of the window's blocks
  std::uint32_t first_block = 0;     ///< number of its first block among those that the batch decodes
  std::uint32_t blocks = 0;          ///< that the batch decodes; 0: the entries are there already
};

/// The places of all lists of a batch or window.
struct EntryPlaces {
  std::vector<EntryPlace> lists;  ///< as in QueryBatch::lists
  std::uint32_t blocks = 0;       ///< that are decoded, of all lists; a raw list counts as one block
};

/// Words that a list of `postings` postings takes there.
constexpr std::uint64_t entry_words(std::uint64_t postings) { return (postings + 3) / 4 * 4; }
constexpr std::uint64_t start_words(std::uint32_t ranges) { return (2 * std::uint64_t{ranges} + 1 + 3) / 4 * 4; }

}  // namespace quern::gpu
