#pragma once
#include <utility>

#include "quern/core/error.hpp"

namespace quern::fuzz {

/// Calls read(), which may only throw CorruptFile.
template <class Read>
void ignore_corruption(Read&& read) {
  try {
    std::forward<Read>(read)();
  } catch (const CorruptFile&) {
  }
}

}  // namespace quern::fuzz
