#pragma once
#include <cstdint>
#include <vector>

#include "quern/core/types.hpp"

namespace quern {

/// How far a query visits one of its lists: Wang et al. 3.3.1. The query's lists being l(0), l(1), … in the order of
/// summation, it visits the postings of l(i) up to the last document that it finds in all of l(0) to l(i) before it
/// ends. So what it visits is the front of the list.
struct ListVisit {
  term_t term = 0;
  std::uint64_t df = 0;
  docid_t end = 0;  ///< one more than the last docID visited; 0 where none is
};

/// A query by `and`, run as Wang et al. run it: all postings of l(0) are looked at, none passed over because of another
/// list, and after each `round` of them the query may end early.
struct VisitCount {
  std::uint64_t round = 0;  ///< postings of l(0); a multiple of the index's block size
  std::vector<ListVisit> lists;
};

}  // namespace quern
