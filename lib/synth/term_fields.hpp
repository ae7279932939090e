#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/synth/df_table.hpp"

namespace quern {

/// What decides where a term's postings go and how great their frequencies are.
struct TermField {
  std::uint64_t df = 0;
  std::uint64_t own_key = 0;  ///< of the noise that is the term's alone (and of those that follow it)
  std::uint64_t kin_key = 0;  ///< of the noise that it shares: a topic's, or the own key of the term that it follows
  float own_noise = 0, kin_noise = 0;  ///< how much either decides at a cut: standard deviations of log-odds
  float single_narrowness = 1;         ///< of chance alone, over own noise and chance together
  float freq_level = 0;                ///< the higher, the greater its frequencies: see FreqTables
};

/// The field of each term of a table; `clustering` is 0 to 1. Keys come from seed and term, so that a term keeps its
/// list when others come or go. A term shares noise with a topic, one of a few that the term's bytes choose. Where
/// queries (their terms) are given, a term that stands in queries with a more frequent one follows that one instead:
/// the partner with which it is met most often beyond what the partner's own frequency in the queries would give.
std::vector<TermField> term_fields(const DfTable& table, double clustering, std::uint64_t seed,
                                   std::span<const std::vector<std::string>> queries);

}  // namespace quern
