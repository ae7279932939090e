#include "quern/formats/dictionary_merge.hpp"

#include <algorithm>

namespace quern {

DictionaryMerge::DictionaryMerge(std::vector<DictionaryScan> scans)
    : scans_(std::move(scans)), entries_(scans_.size()), tournament_(scans_.size()) {}

std::uint64_t DictionaryMerge::blocks_at_once(std::size_t scans, std::uint64_t memory_bytes) {
  // Of terms of ordinary length; a block of the longest takes some times as much.
  constexpr std::uint64_t block_bytes = 1024, most_blocks = 512;
  return std::clamp<std::uint64_t>(memory_bytes / (std::max<std::size_t>(scans, 1) * block_bytes), 1, most_blocks);
}

bool DictionaryMerge::next() {
  return tournament_.next([&](std::size_t source) -> std::optional<std::string_view> {
    if (!scans_[source].next(entries_[source])) return std::nullopt;
    return entries_[source].term;
  });
}

}  // namespace quern
