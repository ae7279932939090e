#pragma once
#include <cstdint>

namespace quern {

/// A distinct term of a query, as features use it.
struct FeatureTerm {
  double count = 0;                 ///< n: how often the query has it
  double idf = 0;                   ///< ln(1 + (M - df + 0.5) / (df + 0.5))
  double collection_share = 0;      ///< max(cf, 0.5) / max(T, 1): the term's share of all tokens
  double log_dirichlet_absent = 0;  ///< ln(mu · collection_share)
  double log_jelinek_absent = 0;    ///< ln(lambda · collection_share)
};

/// A query as features use it, plain arrays: what machines read, on every device.
struct FeatureQueryView {
  const FeatureTerm* terms = nullptr;       ///< distinct, in the order in which they first occur in the query
  std::uint32_t num_terms = 0;              ///< Q
  const std::uint32_t* sequence = nullptr;  ///< places in `terms` of all the query's terms, in its order
  std::uint32_t length = 0;                 ///< terms of the query, each as often as it occurs
  /// The places in `terms` that follow that of term i somewhere in the sequence, rising, each once, are those from
  /// followers[first_follower[i]] to followers[first_follower[i + 1]]. Null: only the sequence says it.
  const std::uint32_t* first_follower = nullptr;
  const std::uint32_t* followers = nullptr;
};

/// Parameters of features, the same for all indexes.
struct FeatureParameters {
  double mu = 2000;     ///< of Dirichlet smoothing
  double lambda = 0.1;  ///< the collection's share in Jelinek-Mercer smoothing
};

}  // namespace quern
