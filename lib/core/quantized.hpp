#pragma once
#include <cstdint>
#include <optional>

#include "quern/core/bm25.hpp"
#include "quern/core/types.hpp"

/// Impacts as small integers: a posting's term score (weight times impact, with the index's own k1, b and statistics,
/// the lucene IDF and a term that occurs once in the query), in steps of one size for the whole index (Anh, Moffat:
/// Pruned Query Evaluation Using Pre-computed Impacts, SIGIR 2006).
namespace quern {

inline constexpr unsigned min_quantize_bits = 4, max_quantize_bits = 16;

/// The weight w_t of quantized term scores.
inline float quantized_weight(std::uint64_t df, const CollectionStatistics& statistics, const Bm25Parameters& bm25) {
  return term_weight(1, inverse_document_frequency(Idf::lucene, statistics.documents, df), bm25);
}

/// Maps term scores to integers of `bits` bits: max(1, floor(score · s + 1/2)), at most 2^bits - 1, where
/// s = (2^bits - 1) / top and top is the largest term score of all lists. Quotient, product and sum are each rounded
/// once to double. The mapping is monotone, so an upper bound of term scores gives an upper bound of their integers.
/// NaN counts as 0.
class ImpactQuantizer {
 public:
  /// `top` is finite and not negative; 0 means that there are no term scores.
  ImpactQuantizer(float top, unsigned bits)
      : top_(top), bits_(bits), scale_(top > 0 ? static_cast<double>(levels()) / static_cast<double>(top) : 0) {}

  float top() const { return top_; }
  unsigned bits() const { return bits_; }
  /// The largest integer.
  std::uint32_t levels() const { return (std::uint32_t{1} << bits_) - 1; }
  /// Integers per unit of score: a term score is about its integer / scale().
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

// Impacts that a corpus gives: weights of terms in documents, which a model has learned, instead of texts that are
// scored by BM25. A score is the sum of a document's weights for a query's terms.

struct ImpactSettings {
  unsigned bits = 8;  ///< weights are whole numbers from 1 to max_weight()
  /// What the corpus's weights were multiplied with before they were rounded; none: they are whole there.
  std::optional<double> scale = std::nullopt;

  std::uint32_t max_weight() const { return (std::uint32_t{1} << bits) - 1; }
  /// 2^bits, by which a weight is divided to be an impact below 1: exact in float32, as the quotient is.
  float unit() const { return static_cast<float>(std::uint32_t{1} << bits); }
  float impact_of(freq_t weight) const { return static_cast<float>(weight) / unit(); }

  bool operator==(const ImpactSettings&) const = default;
};

/// Throws InvalidArgument if bits or scale are out of range.
void check_impact_settings(const ImpactSettings& settings);

/// The range of scales.
inline constexpr double min_impact_scale = 1e-9, max_impact_scale = 1e9;

}  // namespace quern
