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

/// The k-th best impact of a list as it is stored beside the greatest: never above `impact`, and below it by 1 / 128 of
/// the greatest at most, or by the steps of 16 bits, all that versions up to 3 of the index round to.
float stored_kth_impact(float impact, float greatest, std::uint32_t version);

/// Appends those of a list of `df` postings.
void put_ranked_impacts(Bytes& to, const RankedImpacts& bounds, std::uint64_t df);
/// Reads them. Until version 3 of the index, they had more bits. Throws CorruptFile for a greatest impact above 1.
RankedImpacts read_ranked_impacts(ByteReader& from, std::uint64_t df, std::uint32_t version);

}  // namespace quern
