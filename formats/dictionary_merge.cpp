#include "quern/formats/dictionary_merge.hpp"

#include <algorithm>

namespace quern {

DictionaryMerge::DictionaryMerge(std::vector<DictionaryScan> scans)
    : scans_(std::move(scans)), entries_(scans_.size()), losers_(scans_.size()) {}

std::uint64_t DictionaryMerge::blocks_at_once(std::size_t scans, std::uint64_t memory_bytes) {
  // Of terms of ordinary length; a block of the longest takes some times as much.
  constexpr std::uint64_t block_bytes = 1024, most_blocks = 512;
  return std::clamp<std::uint64_t>(memory_bytes / (std::max<std::size_t>(scans, 1) * block_bytes), 1, most_blocks);
}

DictionaryMerge::Player DictionaryMerge::advance(std::uint32_t source) {
  DictionaryEntry& entry = entries_[source];
  if (!scans_[source].next(entry)) return {0, source, true};
  return {leading_bytes(entry.term), source, false};
}

bool DictionaryMerge::wins(const Player& a, const Player& b) const {
  if (a.has_ended || b.has_ended) return b.has_ended && (!a.has_ended || a.source < b.source);
  if (a.prefix != b.prefix) return a.prefix < b.prefix;
  const int order = entries_[a.source].term.compare(entries_[b.source].term);
  return order != 0 ? order < 0 : a.source < b.source;
}

DictionaryMerge::Player DictionaryMerge::play(std::size_t node) {
  if (node >= scans_.size()) return advance(static_cast<std::uint32_t>(node - scans_.size()));
  const Player left = play(2 * node), right = play(2 * node + 1);
  const bool left_wins = wins(left, right);
  losers_[node] = left_wins ? right : left;
  return left_wins ? left : right;
}

bool DictionaryMerge::next() {
  if (scans_.empty()) return false;
  if (!has_begun_) {
    has_begun_ = true;
    winner_ = play(1);
    is_new_ = true;
  } else {
    last_ = entries_[winner_.source].term;
    Player player = advance(winner_.source);
    for (std::size_t node = (scans_.size() + winner_.source) / 2; node > 0; node /= 2)
      if (wins(losers_[node], player)) std::swap(losers_[node], player);
    winner_ = player;
    is_new_ = winner_.has_ended || entries_[winner_.source].term != last_;
  }
  source_ = winner_.source;
  return !winner_.has_ended;
}

}  // namespace quern
