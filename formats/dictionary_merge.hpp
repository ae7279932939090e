#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/term_dictionary.hpp"

namespace quern {

/// Goes over several dictionaries as one, in the order of terms and, for equal terms, of the dictionaries. A
/// tournament: each step compares the next term with as many others as the number of dictionaries has bits, by their
/// first eight bytes as long as these differ (Knuth, The Art of Computer Programming 3, section 5.4.1: trees of
/// losers).
class DictionaryMerge {
 public:
  /// Scans that have not begun.
  explicit DictionaryMerge(std::vector<DictionaryScan> scans);
  /// What a scan may buffer so that `scans` of them take about this much memory, in blocks of the dictionary.
  static std::uint64_t blocks_at_once(std::size_t scans, std::uint64_t memory_bytes);

  /// Goes to the next entry; false at the end. Views are valid until the next call.
  bool next();
  std::string_view term() const { return entries_[source_].term; }
  ByteView payload() const { return entries_[source_].payload; }
  /// Which dictionary has it.
  std::size_t source() const { return source_; }
  /// True unless the entry before has the same term.
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
  /// Reads the source's next entry.
  Player advance(std::uint32_t source);
  bool wins(const Player& a, const Player& b) const {
    if (a.prefix == b.prefix && a.goes_on() && b.goes_on()) return wins_as_text(a, b);
    // No branch: who wins is as good as random.
    return a.key() < b.key();
  }
  bool wins_as_text(const Player& a, const Player& b) const;
  Player play(std::size_t node);

  std::vector<DictionaryScan> scans_;
  std::vector<DictionaryEntry> entries_;
  std::vector<Player>
      losers_;  ///< of the match at each inner node; node 1 is the last match, and sources are the leaves
  Player winner_;
  std::size_t source_ = 0;
  std::string last_;  ///< the last new term
  std::uint64_t last_prefix_ = 0;
  bool is_new_ = false, has_begun_ = false;
};

}  // namespace quern
