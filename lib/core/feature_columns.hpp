#pragma once
#include <cstddef>
#include <cstdint>

namespace quern {

/// Feature values of some documents, feature by feature: what models read. NaN is a missing value.
struct FeatureColumns {
  /// Documents that processors take at once: `stride` is a multiple of it, and values up to there may be read.
  static constexpr std::size_t documents_per_group = 32;

  const float* values = nullptr;  ///< features × stride
  std::size_t documents = 0;
  std::size_t stride = 0;  ///< from a feature's first value to the next feature's; at least `documents`

  /// The values of one feature, by document.
  constexpr const float* column(std::uint32_t feature) const { return values + feature * stride; }
};

}  // namespace quern
