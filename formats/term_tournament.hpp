#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern {

/// Goes over several sources of rising terms as one, in the order of terms and, for equal terms, of the sources. Each
/// step compares the next term with as many others as the number of sources has bits, by their first eight bytes as
/// long as these differ (Knuth, The Art of Computer Programming 3, section 5.4.1: trees of losers).
class TermTournament {
 public:
  explicit TermTournament(std::size_t sources) : terms_(sources), losers_(sources) {}

  /// Goes to the next term; false at the end. advance(source) takes a source to its next term and returns it, as an
  /// optional view that is valid until the source goes on, or nothing at the source's end.
  template <class Advance>
  bool next(Advance&& advance);
  std::string_view term() const { return terms_[source_]; }
  /// Which source has it.
  std::size_t source() const { return source_; }
  /// True unless the term before was the same.
  bool is_new_term() const { return is_new_; }

 private:
  /// What decides a match: the prefix, then `low`, unless a term goes on after its prefix.
  struct Player {
    std::uint64_t prefix = ~std::uint64_t{0};
    std::uint64_t low = ended;  ///< bytes of the term, at most `longer`, in the upper half; the source

    static constexpr std::uint64_t longer = sizeof prefix + 1, ended = std::uint64_t{longer + 1} << 32;
    std::uint32_t source() const { return static_cast<std::uint32_t>(low); }
    bool has_ended() const { return low >= ended; }
    bool goes_on() const { return low >> 32 == longer; }
    unsigned __int128 key() const { return static_cast<unsigned __int128>(prefix) << 64 | low; }
  };
  Player player(std::uint32_t source, const std::optional<std::string_view>& term);
  bool wins(const Player& a, const Player& b) const {
    if (a.prefix == b.prefix && a.goes_on() && b.goes_on()) return wins_as_text(a, b);
    // No branch: who wins is as good as random.
    return a.key() < b.key();
  }
  bool wins_as_text(const Player& a, const Player& b) const;
  /// Plays the matches under a node, and returns their winner.
  template <class Advance>
  Player play(std::size_t node, Advance& advance);
  void keep_last();
  /// Plays the matches of the source that won the last time, which has a new term.
  void replay(Player player);

  std::vector<std::string_view> terms_;
  std::vector<Player>
      losers_;  ///< of the match at each inner node; node 1 is the last match, and sources are the leaves
  Player winner_;
  std::size_t source_ = 0;
  std::string last_;  ///< the last new term
  std::uint64_t last_prefix_ = 0;
  bool is_new_ = false, has_begun_ = false;
};

template <class Advance>
TermTournament::Player TermTournament::play(std::size_t node, Advance& advance) {
  if (node >= terms_.size()) {
    const auto source = static_cast<std::uint32_t>(node - terms_.size());
    return player(source, advance(source));
  }
  const Player left = play(2 * node, advance), right = play(2 * node + 1, advance);
  const bool left_wins = wins(left, right);
  losers_[node] = left_wins ? right : left;
  return left_wins ? left : right;
}

template <class Advance>
bool TermTournament::next(Advance&& advance) {
  if (terms_.empty()) return false;
  if (!has_begun_) {
    has_begun_ = true;
    winner_ = play(1, advance);
    is_new_ = true;
  } else {
    if (is_new_) keep_last();
    replay(player(winner_.source(), advance(winner_.source())));
  }
  source_ = winner_.source();
  return !winner_.has_ended();
}

}  // namespace quern
