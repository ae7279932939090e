#pragma once
#include <cmath>

#include "quern/core/error.hpp"

/// BM25 with a fixed order of float operations, so that every engine gives the same bits (Robertson, Walker: Some
/// Simple Effective Approximations to the 2-Poisson Model, SIGIR 1994). Term t contributes w_t * (f / (K_d + f)) to
/// document d, each operation rounded once to float32; K_d and w_t are computed in double and rounded once. A score is
/// the float32 sum of the contributions, with terms in increasing order of df and ties broken by term ID. Compiled
/// without floating-point contraction.
namespace quern {

struct Bm25Parameters {
  double k1 = 1.2;
  double b = 0.75;
  bool operator==(const Bm25Parameters&) const = default;
};

/// Throws InvalidArgument if k1 or b is out of range or not a number.
inline void check_bm25(const Bm25Parameters& parameters) {
  check_range("k1", parameters.k1, 0, 1000);
  check_range("b", parameters.b, 0, 1);
}

/// Statistics of the whole collection, even where the index is only a shard of it.
struct CollectionStatistics {
  std::uint64_t documents = 0;                               ///< N, including empty documents
  std::uint64_t tokens = 0;                                  ///< in the titles and bodies of all documents
  std::optional<std::uint64_t> title_tokens = std::nullopt;  ///< in titles, if known

  double average_length() const {
    return documents == 0 || tokens == 0 ? 1.0 : static_cast<double>(tokens) / static_cast<double>(documents);
  }
};

/// K_d of a document with `length` tokens.
inline float document_constant(std::uint32_t length, double average_length, const Bm25Parameters& parameters) {
  const double ratio = static_cast<double>(length) / average_length;
  return static_cast<float>(parameters.k1 * (1.0 - parameters.b + parameters.b * ratio));
}

/// f / (K_d + f): the contribution without the weight w_t, in (0, 1].
inline float impact(freq_t freq, float constant) {
  const float f = static_cast<float>(freq);
  return f / (constant + f);
}

enum class Idf { lucene, robertson };

/// lucene: ln(1 + (N - df + 0.5) / (df + 0.5)); robertson: ln((N - df + 0.5) / (df + 0.5)), at least 1e-6.
inline double inverse_document_frequency(Idf idf, std::uint64_t documents, std::uint64_t df) {
  const double odds =
      (static_cast<double>(documents) - static_cast<double>(df) + 0.5) / (static_cast<double>(df) + 0.5);
  if (idf == Idf::lucene) return std::log(1.0 + odds);
  return std::max(1e-6, std::log(odds));
}

/// w_t of a term that occurs `count` times in the query, or whose query weight is `count`.
inline float term_weight(double count, double idf, const Bm25Parameters& parameters) {
  return static_cast<float>(count * idf * (parameters.k1 + 1.0));
}

// Impacts as small integers: a posting's term score (weight times impact, with the index's own k1, b and statistics,
// the lucene IDF and a term count of one in the query), divided into equal steps for the whole index (Anh, Moffat:
// Pruned Query Evaluation Using Pre-computed Impacts, SIGIR 2006).

inline constexpr unsigned min_quantize_bits = 4, max_quantize_bits = 16;

/// The w_t that quantized term scores use.
inline float quantized_weight(std::uint64_t df, const CollectionStatistics& statistics, const Bm25Parameters& bm25) {
  return term_weight(1, inverse_document_frequency(Idf::lucene, statistics.documents, df), bm25);
}

/// Maps term scores to integers of `bits` bits: max(1, floor(score · s + 1/2)), at most 2^bits - 1, where s = (2^bits -
/// 1) / top and top is the largest term score of all lists. Quotient, product and sum are each rounded once to double.
/// The mapping is monotone, so it maps an upper bound of term scores to an upper bound of their integers. NaN counts as
/// 0.
class ImpactQuantizer {
 public:
  /// `top` must be finite and not negative; 0 if there are no term scores.
  ImpactQuantizer(float top, unsigned bits)
      : top_(top), bits_(bits), scale_(top > 0 ? static_cast<double>(levels()) / static_cast<double>(top) : 0) {}

  float top() const { return top_; }
  unsigned bits() const { return bits_; }
  /// The largest integer.
  std::uint32_t levels() const { return (std::uint32_t{1} << bits_) - 1; }
  /// Integers per unit of score: a term score is about its integer divided by scale().
  double scale() const { return scale_; }

  std::uint32_t operator()(float term_score) const {
    const double steps = static_cast<double>(term_score) * scale_ + 0.5;
    if (!(steps >= 1)) return 1;
    return steps < static_cast<double>(levels()) ? static_cast<std::uint32_t>(steps) : levels();
  }

 private:
  float top_;
  unsigned bits_;
  double scale_;
};

/// Impacts that a corpus supplies: term weights learned by a model, instead of texts to score by BM25. A score is the
/// sum of a document's weights for the query's terms.
struct ImpactSettings {
  unsigned bits = 8;  ///< weights are integers from 1 to max_weight()
  /// Factor applied to the corpus's weights before rounding; none if they are integers already.
  std::optional<double> scale = std::nullopt;

  std::uint32_t max_weight() const { return (std::uint32_t{1} << bits) - 1; }
  /// 2^bits: weights are divided by it to give impacts below 1. The number and the quotient are exact in float32.
  float unit() const { return static_cast<float>(std::uint32_t{1} << bits); }
  float impact_of(freq_t weight) const { return static_cast<float>(weight) / unit(); }

  bool operator==(const ImpactSettings&) const = default;
};

inline constexpr double min_impact_scale = 1e-9, max_impact_scale = 1e9;

/// Throws InvalidArgument if bits or scale are out of range.
inline void check_impact_settings(const ImpactSettings& settings) {
  check_range("bits of impacts", settings.bits, min_quantize_bits, max_quantize_bits);
  if (settings.scale) check_range("the impact scale", *settings.scale, min_impact_scale, max_impact_scale);
}

}  // namespace quern
