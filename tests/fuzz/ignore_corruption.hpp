#pragma once
#include <utility>

#include "quern/core/error.hpp"

namespace quern::fuzz {

/// Calls read(), which may report a corrupt file and nothing else.
template <class Read>
void ignore_corruption(Read&& read) {
  try {
    std::forward<Read>(read)();
  } catch (const CorruptFile&) {
  }
}

}  // namespace quern::fuzz
