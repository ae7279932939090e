#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// A posting on its way from the forward lists to its list.
struct Posting {
  term_t term = 0;
  docid_t docid = 0;
  freq_t freq = 0;
  bool operator==(const Posting&) const = default;
};

}  // namespace quern
