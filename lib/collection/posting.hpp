#pragma once
#include <functional>
#include <span>

#include "quern/core/types.hpp"

namespace quern {

/// A posting on its way from the forward lists to its list.
struct Posting {
  term_t term = 0;
  docid_t docid = 0;
  freq_t freq = 0;
  bool operator==(const Posting&) const = default;
};

/// A list's postings, block by block, as often as asked: the list itself need not be in memory.
using BlockVisit = std::function<void(std::span<const docid_t>, std::span<const freq_t>)>;
using ForEachBlock = std::function<void(const BlockVisit&)>;

}  // namespace quern
