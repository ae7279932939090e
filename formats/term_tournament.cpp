#include "quern/formats/term_tournament.hpp"

#include <algorithm>

#include "quern/formats/term_dictionary.hpp"

namespace quern {

TermTournament::Player TermTournament::player(std::uint32_t source, const std::optional<std::string_view>& term) {
  if (!term) return {~std::uint64_t{0}, Player::ended | source};
  terms_[source] = *term;
  const std::uint64_t size = std::min<std::uint64_t>(term->size(), Player::longer);
  return {leading_bytes(*term), size << 32 | source};
}

bool TermTournament::wins_as_text(const Player& a, const Player& b) const {
  const int order = terms_[a.source()].compare(terms_[b.source()]);
  return order != 0 ? order < 0 : a.source() < b.source();
}

void TermTournament::keep_last() {
  last_ = terms_[winner_.source()];
  last_prefix_ = winner_.prefix;
}

void TermTournament::replay(Player player) {
  for (std::size_t node = (terms_.size() + winner_.source()) / 2; node > 0; node /= 2) {
    const Player other = losers_[node];
    const bool other_wins = wins(other, player);
    losers_[node] = other_wins ? player : other;
    player = other_wins ? other : player;
  }
  winner_ = player;
  is_new_ = winner_.has_ended() || winner_.prefix != last_prefix_ || terms_[winner_.source()] != last_;
}

}  // namespace quern
