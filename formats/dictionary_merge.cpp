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
  if (!scans_[source].next(entry)) return {~std::uint64_t{0}, Player::ended | source};
  const std::uint64_t size = std::min<std::uint64_t>(entry.term.size(), Player::longer);
  return {leading_bytes(entry.term), size << 32 | source};
}

bool DictionaryMerge::wins_as_text(const Player& a, const Player& b) const {
  const int order = entries_[a.source()].term.compare(entries_[b.source()].term);
  return order != 0 ? order < 0 : a.source() < b.source();
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
    if (is_new_) {
      last_ = entries_[winner_.source()].term;
      last_prefix_ = winner_.prefix;
    }
    Player player = advance(winner_.source());
    for (std::size_t node = (scans_.size() + winner_.source()) / 2; node > 0; node /= 2) {
      const Player other = losers_[node];
      const bool other_wins = wins(other, player);
      losers_[node] = other_wins ? player : other;
      player = other_wins ? other : player;
    }
    winner_ = player;
    is_new_ = winner_.has_ended() || winner_.prefix != last_prefix_ || entries_[winner_.source()].term != last_;
  }
  source_ = winner_.source();
  return !winner_.has_ended();
}

}  // namespace quern
