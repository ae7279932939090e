#pragma once
#include <algorithm>
#include <span>

#include "quern/core/types.hpp"

/// Searches in rising docIDs, of a block's postings and of a list's block rows.
namespace quern {

/// The first place from `from` on whose docID is not below `target`; docids.size() where there is none. Halves the
/// range without branches: where a query looks is as good as random, so a branch would be mispredicted every other
/// time.
inline std::size_t search_block(std::span<const docid_t> docids, std::size_t from, docid_t target) {
  const docid_t* first = docids.data() + from;
  std::size_t size = docids.size() - from;
  if (size == 0) return from;
  while (size > 1) {
    const std::size_t half = size / 2;
    first += half & -static_cast<std::size_t>(first[half - 1] < target);
    size -= half;
  }
  return static_cast<std::size_t>(first - docids.data()) + (*first < target);
}

/// The same over block rows, where the place is most often near: steps double until they pass it.
inline std::size_t search_rows(std::span<const docid_t> rows, std::size_t from, docid_t target) {
  std::size_t step = 1;
  while (from + step <= rows.size() && rows[from + step - 1] < target) {
    from += step;
    step *= 2;
  }
  return search_block(rows.first(std::min(from + step, rows.size())), from, target);
}

}  // namespace quern
