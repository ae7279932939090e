#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/types.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/term_dictionary.hpp"

namespace quern {

/// The numbers that the terms of a collection's lexicon have among those of several, by their numbers in their own.
struct JoinedTerms {
  std::size_t collection = 0;  ///< which of the several
  std::vector<term_t> numbers;
};

/// The lexicons of several collections as one, in work files. Many threads may read it at once.
class JoinedLexicon {
 public:
  /// A lexicon to join: a collection's file and its number of terms. A null file stands for a lexicon that is left out.
  struct Source {
    const ContainerReader* container = nullptr;
    std::uint64_t terms = 0;
  };
  /// Counts of equal terms are added up. Throws InvalidArgument if there are more than 2^32 - 2 terms in all.
  JoinedLexicon(std::span<const Source> sources, const std::string& tmp_folder, std::uint64_t memory_bytes);

  /// A file with the sections "lexicon" and "lexicon_blocks" of a collection.
  const ContainerReader& container() const { return *container_; }
  std::uint64_t terms() const { return terms_; }
  /// The terms of one of the collections: read from the work file, unless others have them at the moment.
  std::shared_ptr<const JoinedTerms> terms_of(std::size_t collection) const;

 private:
  void join(std::span<const Source> sources, const std::string& tmp_folder, std::uint64_t memory_bytes);

  std::optional<ContainerReader> container_;
  std::uint64_t terms_ = 0;
  File numbers_;                        ///< those of all collections, one after another
  std::vector<std::uint64_t> offsets_;  ///< of each collection's numbers, in numbers; then their end
  mutable std::mutex taking_;
  mutable std::vector<std::weak_ptr<const JoinedTerms>> taken_;  ///< of each collection, while somebody has them
};

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

/// Goes over several dictionaries as one, in the order of terms and, for equal terms, of the dictionaries.
class DictionaryMerge {
 public:
  /// Scans that have not begun.
  explicit DictionaryMerge(std::vector<DictionaryScan> scans);
  /// What a scan may buffer so that `scans` of them take about this much memory, in blocks of the dictionary.
  static std::uint64_t blocks_at_once(std::size_t scans, std::uint64_t memory_bytes);

  /// Goes to the next entry; false at the end. Views are valid until the next call.
  bool next();
  std::string_view term() const { return tournament_.term(); }
  ByteView payload() const { return entries_[tournament_.source()].payload; }
  /// Which dictionary has it.
  std::size_t source() const { return tournament_.source(); }
  /// True unless the entry before has the same term.
  bool is_new_term() const { return tournament_.is_new_term(); }

 private:
  std::vector<DictionaryScan> scans_;
  std::vector<DictionaryEntry> entries_;
  TermTournament tournament_;
};

}  // namespace quern
