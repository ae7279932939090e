#pragma once
#include <cstdint>
#include <optional>

#include "quern/core/types.hpp"

/// Impacts that a corpus gives: weights of terms in documents, which a model has learned, instead of texts that are
/// scored by BM25. A score is the sum of a document's weights for a query's terms.
namespace quern {

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
