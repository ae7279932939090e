#pragma once
#include "quern/core/natural_log.hpp"
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_info.hpp"

namespace quern {

/// The logarithm of the probability of the query in a language model of the stream, with the collection's as background
/// (Zhai, Lafferty: A Study of Smoothing Methods for Language Models, SIGIR 2001).
struct LanguageModels {
  static constexpr FeatureInfo features[] = {
      {"lm_dirichlet", FeatureKind::dependent, "Σ n · ln(tf + mu · p) - length(q) · ln(L + mu), mu = 2000"},
      {"lm_jelinek_mercer", FeatureKind::dependent,
       "Σ n · ln((1 - lambda) · (tf / L) + lambda · p), lambda = 0.1; tf / L is 0 where tf is"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    constexpr FeatureParameters parameters;
    double dirichlet = 0, jelinek = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) {
      const FeatureTerm& term = stream.query.terms[i];
      const double tf = stream.tf[i];
      if (stream.tf[i] == 0) {
        dirichlet += term.count * term.log_dirichlet_absent;
        jelinek += term.count * term.log_jelinek_absent;
      } else {
        dirichlet += term.count * natural_log(tf + parameters.mu * term.collection_share);
        jelinek += term.count * natural_log((1.0 - parameters.lambda) * (tf / stream.length) +
                                            parameters.lambda * term.collection_share);
      }
    }
    values[0] = dirichlet - stream.query.length * natural_log(stream.length + parameters.mu);
    values[1] = jelinek;
  }
};

}  // namespace quern
