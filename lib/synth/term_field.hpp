#pragma once
#include <cstdint>

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

}  // namespace quern
