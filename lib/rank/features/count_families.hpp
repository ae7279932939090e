#pragma once
#include "quern/rank/features/document_view.hpp"
#include "quern/rank/features/feature_list.hpp"

namespace quern {

/// Aggregates of a value x over the query's terms, in order: sum, minimum, maximum, mean, variance (the mean of (x -
/// mean)²). All are 0 without terms. term_value(i) returns x of term i.
template <class TermValue>
constexpr void publish_aggregates(std::uint32_t num_terms, TermValue&& term_value, double* values) {
  double sum = 0, least = 0, greatest = 0, mean = 0, variance = 0;
  for (std::uint32_t i = 0; i < num_terms; ++i) {
    const double x = term_value(i);
    sum += x;
    if (i == 0 || x < least) least = x;
    if (i == 0 || x > greatest) greatest = x;
  }
  if (num_terms > 0) {
    mean = sum / num_terms;
    for (std::uint32_t i = 0; i < num_terms; ++i) {
      const double difference = term_value(i) - mean;
      variance += difference * difference;
    }
    variance = variance / num_terms;
  }
  values[0] = sum;
  values[1] = least;
  values[2] = greatest;
  values[3] = mean;
  values[4] = variance;
}

/// Frequencies of the query's terms in a stream.
struct TermFrequencies {
  static constexpr FeatureInfo features[] = {
      {"tf_sum", FeatureKind::dynamic, "Σ tf"},
      {"tf_min", FeatureKind::dynamic, "min tf"},
      {"tf_max", FeatureKind::dynamic, "max tf"},
      {"tf_mean", FeatureKind::dynamic, "mean tf"},
      {"tf_variance", FeatureKind::dynamic, "mean of (tf - mean)²"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    publish_aggregates(
        stream.query.num_terms, [&stream](std::uint32_t i) { return static_cast<double>(stream.tf[i]); }, values);
  }
};

/// Frequencies divided by the stream's length.
struct RelativeFrequencies {
  static constexpr FeatureInfo features[] = {
      {"tf_by_length_sum", FeatureKind::dynamic, "Σ tf / L"},
      {"tf_by_length_min", FeatureKind::dynamic, "min tf / L"},
      {"tf_by_length_max", FeatureKind::dynamic, "max tf / L"},
      {"tf_by_length_mean", FeatureKind::dynamic, "mean tf / L"},
      {"tf_by_length_variance", FeatureKind::dynamic, "mean of (tf / L - mean)²"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    publish_aggregates(
        stream.query.num_terms,
        [&stream](std::uint32_t i) {
          return stream.length == 0 ? 0.0 : static_cast<double>(stream.tf[i]) / stream.length;
        },
        values);
  }
};

/// Frequencies weighted by the terms' rarity.
struct TfIdf {
  static constexpr FeatureInfo features[] = {
      {"tf_idf_sum", FeatureKind::dependent, "Σ tf · idf"},
      {"tf_idf_min", FeatureKind::dependent, "min tf · idf"},
      {"tf_idf_max", FeatureKind::dependent, "max tf · idf"},
      {"tf_idf_mean", FeatureKind::dependent, "mean tf · idf"},
      {"tf_idf_variance", FeatureKind::dependent, "mean of (tf · idf - mean)²"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    publish_aggregates(
        stream.query.num_terms, [&stream](std::uint32_t i) { return stream.tf[i] * stream.query.terms[i].idf; },
        values);
  }
};

/// The number of the query's terms in a stream.
struct MatchedTerms {
  static constexpr FeatureInfo features[] = {
      {"matched", FeatureKind::dynamic, "m: distinct terms of the query with tf > 0"},
      {"matched_share", FeatureKind::dynamic, "m / Q; 0 if Q = 0"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    std::uint32_t matched = 0;
    for (std::uint32_t i = 0; i < stream.query.num_terms; ++i) matched += stream.tf[i] > 0;
    values[0] = matched;
    values[1] = stream.query.num_terms == 0 ? 0.0 : values[0] / stream.query.num_terms;
  }
};

/// The size of a stream.
struct StreamSize {
  static constexpr FeatureInfo features[] = {
      {"length", FeatureKind::fixed, "L: tokens of the stream"},
      {"phrases", FeatureKind::fixed, "runs of tokens between the ends of phrases"},
  };
  static constexpr void publish(const StreamView& stream, double* values) {
    values[0] = stream.length;
    values[1] = stream.phrases;
  }
};

}  // namespace quern
