#pragma once
#include <mutex>

#include "quern/formats/container.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/term_dictionary.hpp"

namespace quern {

/// The joined numbers of a collection's terms, by their numbers in its own lexicon.
struct JoinedTerms {
  std::size_t collection = 0;  ///< index of the collection
  std::vector<term_t> numbers;
};

/// The joined lexicon of several collections, in work files. Thread-safe for reading.
class JoinedLexicon {
 public:
  /// A lexicon to join: a collection's file and its number of terms. A null file is skipped.
  struct Source {
    const ContainerReader* container = nullptr;
    std::uint64_t terms = 0;
  };
  /// Adds up the counts of equal terms. Throws InvalidArgument if there are more than 2^32 - 2 terms in total.
  JoinedLexicon(std::span<const Source> sources, const std::string& tmp_folder, std::uint64_t memory_bytes);

  /// A file with the sections "lexicon" and "lexicon_blocks" of a collection.
  const ContainerReader& container() const { return *container_; }
  std::uint64_t terms() const { return terms_; }
  /// The terms of a collection: shared if another thread holds them, otherwise read from the work file.
  std::shared_ptr<const JoinedTerms> terms_of(std::size_t collection) const;

 private:
  void join(std::span<const Source> sources, const std::string& tmp_folder, std::uint64_t memory_bytes);

  std::optional<ContainerReader> container_;
  std::uint64_t terms_ = 0;
  File numbers_;                        ///< numbers of all collections, one after another
  std::vector<std::uint64_t> offsets_;  ///< start of each collection in numbers_, in entries; then the end
  mutable std::mutex taking_;
  mutable std::vector<std::weak_ptr<const JoinedTerms>> taken_;  ///< terms of each collection while in use
};

/// Merges several sources of ascending terms, ordered by term, then by source. Each step compares about log2(sources)
/// terms, by their first eight bytes if these differ (tree of losers: Knuth, The Art of Computer Programming 3, section
/// 5.4.1).
class TermTournament {
 public:
  explicit TermTournament(std::size_t sources) : terms_(sources), losers_(sources) {}

  /// Moves to the next term; false at the end. advance(source) moves a source to its next term and returns an optional
  /// view of it, valid until the source's next move; nullopt at the end.
  template <class Advance>
  bool next(Advance&& advance);
  std::string_view term() const { return terms_[source_]; }
  /// Source of the current term.
  std::size_t source() const { return source_; }
  /// True unless the previous term was equal.
  bool is_new_term() const { return is_new_; }

 private:
  /// A competitor in a match: the prefix decides, then `low` unless a term continues after its prefix.
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
    // Branch-free: the winner is unpredictable.
    return a.key() < b.key();
  }
  bool wins_as_text(const Player& a, const Player& b) const;
  /// Plays the matches below a node and returns the winner.
  template <class Advance>
  Player play(std::size_t node, Advance& advance);
  void keep_last();
  /// Replays the matches of the last winner, which has a new term.
  void replay(Player player);

  std::vector<std::string_view> terms_;
  std::vector<Player> losers_;  ///< loser at each inner node; node 1 is the final, and sources are the leaves
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

/// Merges several dictionaries, ordered by term, then by dictionary.
class DictionaryMerge {
 public:
  /// The scans must not have begun.
  explicit DictionaryMerge(std::vector<DictionaryScan> scans);
  /// Blocks that each of `scans` scans may buffer within this memory.
  static std::uint64_t blocks_at_once(std::size_t scans, std::uint64_t memory_bytes);

  /// Moves to the next entry; false at the end. Views are valid until the next call.
  bool next();
  std::string_view term() const { return tournament_.term(); }
  ByteView payload() const { return entries_[tournament_.source()].payload; }
  /// Dictionary of the current entry.
  std::size_t source() const { return tournament_.source(); }
  /// True unless the previous entry has the same term.
  bool is_new_term() const { return tournament_.is_new_term(); }

 private:
  std::vector<DictionaryScan> scans_;
  std::vector<DictionaryEntry> entries_;
  TermTournament tournament_;
};

/// Iterates over an index's lists in term order, one lexicon block at a time.
class LexiconCursor {
 public:
  /// Starts before the first list. The index must outlive it.
  explicit LexiconCursor(const IndexReader& index) : index_(&index) {}
  /// Moves to the next list; false at the end.
  bool next() {
    if (++place_ < lists_.size()) return true;
    names_.clear();
    name_ends_.assign(1, 0);
    lists_.clear();
    place_ = 0;
    if (next_block_ == index_->num_lexicon_blocks()) return false;
    index_->for_each_list(next_block_++, [&](std::string_view term, const PostingList& list) {
      names_ += term;
      name_ends_.push_back(names_.size());
      lists_.push_back(list);
    });
    return !lists_.empty();
  }
  /// The view is valid until the next call of next().
  std::string_view term() const {
    return std::string_view(names_).substr(name_ends_[place_], name_ends_[place_ + 1] - name_ends_[place_]);
  }
  const PostingList& list() const { return lists_[place_]; }
  const IndexReader& index() const { return *index_; }

 private:
  const IndexReader* index_;
  std::uint64_t next_block_ = 0;
  std::size_t place_ = 0;
  std::string names_;                   ///< the block's terms, concatenated
  std::vector<std::size_t> name_ends_;  ///< ends of the terms in names_, after a 0
  std::vector<PostingList> lists_;
};

}  // namespace quern
