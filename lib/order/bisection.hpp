#pragma once
#include <cstdint>
#include <span>

#include "quern/core/resources.hpp"
#include "quern/order/document_terms.hpp"

/// Recursive graph bisection: Dhulipala et al.: Compressing Graphs and Indexes with Recursive Graph Bisection (KDD
/// 2016), 3. A range of documents is cut in two, and documents are exchanged between the halves as long as that makes
/// gaps smaller; then each half is a range in its turn. In a half of n documents, of which d have a term, the term's
/// gaps take about d log2(n / (d + 1)) bits.
namespace quern {

struct BisectionOptions {
  std::size_t smallest_range = 8;  ///< ranges of at most so many documents stay as they are
  unsigned iterations = 20;        ///< exchanges in a range, at most
};

/// Puts documents that share terms near each other; where it makes no difference they stay in their order. Terms are
/// less than `num_terms`; the sets are overwritten. The same for any number of threads.
void bisect(std::span<TermSet> documents, std::uint32_t num_terms, const BisectionOptions& options,
            const Resources& resources);

/// The most memory that bisect() takes besides the documents.
std::uint64_t bisection_bytes(std::uint64_t documents, std::uint64_t num_terms, unsigned threads);

}  // namespace quern
