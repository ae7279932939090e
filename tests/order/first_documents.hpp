#pragma once
#include <cstddef>
#include <numeric>
#include <vector>

#include "quern/core/types.hpp"

namespace quern::testing {

/// The identity order: 0, 1, 2, ...
inline std::vector<docid_t> first_documents(std::size_t count) {
  std::vector<docid_t> documents(count);
  std::iota(documents.begin(), documents.end(), docid_t{0});
  return documents;
}

}  // namespace quern::testing
