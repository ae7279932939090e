#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// Feature values of several documents, stored by feature: the input of models. NaN marks a missing value.
struct FeatureColumns {
  /// Documents that models process at once. `stride` is a multiple of it, and the padding up to `stride` may be read.
  static constexpr std::size_t documents_per_group = 32;

  const float* values = nullptr;  ///< features × stride
  std::size_t documents = 0;
  std::size_t stride = 0;  ///< values from one feature's column to the next; at least `documents`

  /// The values of one feature, by document.
  constexpr const float* column(std::uint32_t feature) const { return values + feature * stride; }
};

}  // namespace quern
