#pragma once
#include <cstdint>

/// Global scores (Wang et al.: Efficient GPU-based Query Processing with Pruned List Caching in Search Engines, 3.2):
/// GS(d) = alpha · PR(d) + (1 - alpha) · max over the terms t of d of IR(d, t), both terms in [0, 1]. No query with the
/// same alpha, k1 and b scores d higher, since a score is alpha · PR(d) and (1 - alpha) times a weighted mean of IR(d,
/// t).
namespace quern {

/// GS+: an upper bound of d's float32 score in every query. `pagerank` is PR(d), `best_impact` the greatest float32 f /
/// (K_d + f) of d's postings, `terms` their number.
///
/// A query's score sums, in float32, alpha' ⊗ PR and w_t ⊗ impact for each query term t in d, with alpha' =
/// float(alpha), w_t = float((1 - alpha) · share_t), and shares that sum to 1 over all terms of the query. Let u =
/// 2^-24. Each of these addends exceeds its exact value by at most the factor (1 + u)^2: one rounding of alpha' or w_t,
/// one of the product. There are at most n + 1 addends for n = `terms`, hence n additions, each with a factor of at
/// most 1 + u. The exact addends sum to at most GS, so the score is at most GS · (1 + u)^(n + 2), which is less than GS
/// · (1 + 2 (n + 4) u) as long as (n + 2) u < 1. Shares and GS itself are computed in double, with a total error below
/// n · 2^-52; the slack's two spare terms cover it, and the final rounding upwards covers its own error.
float global_score_bound(float pagerank, float best_impact, std::uint32_t terms, double alpha);

}  // namespace quern
