#pragma once
#include <array>
#include <cstdint>

#include "quern/core/bytes.hpp"

/// The impacts that a list's payload in the lexicon keeps for thresholds; index.md describes their bytes.
namespace quern {

/// The ranks k for which an index stores a list's k-th best impact f / (K_d + f), for thresholds.
inline constexpr std::array<std::uint32_t, 4> stored_ranks = {1, 10, 100, 1000};

/// A list's impacts at stored_ranks: the greatest one, exact, and the others as stored, which is rounded down. 0 for
/// ranks that the list has not.
using RankedImpacts = std::array<float, stored_ranks.size()>;

/// The k-th best impact of a list as it is stored beside the greatest: never above `impact`, and below it by at most
/// 1 / 128 of the greatest.
float stored_kth_impact(float impact, float greatest);

/// Appends those of a list of `df` postings.
void put_ranked_impacts(Bytes& to, const RankedImpacts& bounds, std::uint64_t df);
/// Reads them. Throws CorruptFile for a greatest impact above 1.
RankedImpacts read_ranked_impacts(ByteReader& from, std::uint64_t df);

}  // namespace quern
