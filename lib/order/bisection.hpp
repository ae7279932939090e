#pragma once
#include "quern/order/document_terms.hpp"

/// Recursive graph bisection: Dhulipala et al.: Compressing Graphs and Indexes with Recursive Graph Bisection (KDD
/// 2016), 3. A range of documents is halved, and the halves exchange documents as long as that makes gaps smaller; then
/// each half becomes a range. In a half of n documents, d of which contain a term, the term's gaps take about d log2(n
/// / (d + 1)) bits.
namespace quern {

struct BisectionOptions {
  std::size_t smallest_range = 8;  ///< ranges of at most this many documents are not halved
  unsigned iterations = 20;        ///< maximum number of exchanges per range
};

/// Reorders documents so that those that share terms are near each other; documents for which it makes no difference
/// keep their order. Terms are less than `num_terms`; the sets are overwritten. The result is the same for any number
/// of threads.
void bisect(std::span<TermSet> documents, std::uint32_t num_terms, const BisectionOptions& options,
            const Resources& resources);

/// Exchanges the documents of one range between its halves until their gaps no longer shrink: one step of the
/// bisection. Reusable for many ranges; create one per thread.
///
/// As in Mackenzie, Petri and Moffat: Tradeoff Options for Bipartite Graph Partitioning (TKDE 2022), selection instead
/// of sorting finds the documents to exchange: a document's weight is the gain in gap bits from having it in the first
/// half, and the half of the documents with the greatest weights goes there. Each exchange must gain a bit more than
/// the previous one, so that documents with small gains don't go back and forth.
class RangeSplit {
 public:
  /// Memory per term and per document of the largest range.
  static constexpr std::uint64_t bytes_per_term = 5 * sizeof(std::uint32_t);
  static constexpr std::uint64_t bytes_per_document = 1 + sizeof(std::uint64_t) + sizeof(TermSet);

  /// `log_gains[i]` is (i + 1) log2(i + 2) - i log2(i + 1), for i up to the number of documents of the largest range.
  explicit RangeSplit(std::span<const float> log_gains) : log_gains_(log_gains) {}

  /// Renumbers the range's terms from 0, in order of first occurrence, and drops terms of a single document or of all,
  /// since they cost the same in either half. Terms are less than `num_terms` before; returns their number after.
  std::uint32_t renumber(std::span<TermSet> documents, std::uint32_t num_terms);

  /// Moves related documents into the same half; each half keeps the order of its documents. The first half has
  /// documents.size() / 2. Terms are less than `num_terms`, as renumber() left them. With `in_parallel` all threads
  /// share the range; the result is the same.
  void split(std::span<TermSet> documents, std::uint32_t num_terms, unsigned iterations, bool in_parallel);

 private:
  /// A document's place in the range, and the gain in gap bits from having it in the first half instead of the second.
  struct Weight {
    float bits;
    std::uint32_t place;
  };

  void count_terms(std::span<const TermSet> documents, std::uint32_t num_terms);
  void weigh_terms(bool in_parallel);
  /// Documents of the first half get `inertia` bits more.
  void weigh_documents(std::span<const TermSet> documents, float inertia, bool in_parallel);
  /// False if no document moves.
  bool exchange(std::span<const TermSet> documents);
  void gather(std::span<TermSet> documents);

  std::span<const float> log_gains_;
  std::vector<std::uint32_t> numbers_;        ///< new numbers, from 1; 0 for dropped terms
  std::vector<std::uint32_t> total_, first_;  ///< documents with the term, in the range and in its first half
  std::vector<float> in_first_, in_second_;   ///< the term's contribution to document weights in either half
  std::vector<std::uint8_t> second_;          ///< for each place in the range: 1 if the document is in the second half
  std::vector<Weight> weights_;
  std::vector<TermSet> seconds_;
};

}  // namespace quern
