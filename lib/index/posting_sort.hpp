#pragma once
#include <vector>

#include "quern/collection/posting.hpp"

namespace quern {

/// Sorts postings by (term, docID), in parallel, in time linear in their number: a radix sort from the lowest digit,
/// with only as many digits as the numbers need. `scratch` is as large as `postings` afterwards.
void sort_postings(std::vector<Posting>& postings, std::vector<Posting>& scratch, unsigned threads);

}  // namespace quern
