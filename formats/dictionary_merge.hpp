#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "quern/formats/term_dictionary.hpp"
#include "quern/formats/term_tournament.hpp"

namespace quern {

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
