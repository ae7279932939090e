#pragma once
#include <cstdint>
#include <span>
#include <vector>

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

/// Exchanges the documents of one range between its halves until their gaps get no smaller: a step of bisection.hpp.
/// Reused for range after range. One a thread.
///
/// As in Mackenzie, Petri and Moffat: Tradeoff Options for Bipartite Graph Partitioning (TKDE 2022), those that change
/// places are found by selection, not by sorting: all documents are weighed by how much smaller gaps are with them in
/// the first half, and the half of them that leans most to the first goes there. An exchange must gain a bit more each
/// time, so that those that are worth little don't go back and forth.
class RangeSplit {
 public:
  /// What it takes for each term and document of the greatest range.
  static constexpr std::uint64_t bytes_per_term = 5 * sizeof(std::uint32_t);
  static constexpr std::uint64_t bytes_per_document = 1 + sizeof(std::uint64_t) + sizeof(TermSet);

  /// `log_gains[i]` is (i + 1) log2(i + 2) - i log2(i + 1), for i up to the documents of the greatest range.
  explicit RangeSplit(std::span<const float> log_gains) : log_gains_(log_gains) {}

  /// Numbers the range's terms anew, from 0, in the order of their first coming, and drops those that a single document
  /// has or all: they add as much in either half. Before, terms are less than `num_terms`. Returns the number after.
  std::uint32_t renumber(std::span<TermSet> documents, std::uint32_t num_terms);

  /// Moves the documents that belong together into the same half, each half in the order in which they stood before.
  /// The first half has documents.size() / 2. Terms are less than `num_terms`, as renumber() left them. With
  /// `in_parallel` all threads work on the range; the result is the same.
  void split(std::span<TermSet> documents, std::uint32_t num_terms, unsigned iterations, bool in_parallel);

 private:
  /// A document's place in the range, and how much smaller gaps are with it in the first half than in the second.
  struct Leaning {
    float bits;
    std::uint32_t place;
  };

  void count_terms(std::span<const TermSet> documents, std::uint32_t num_terms);
  void weigh_terms(bool in_parallel);
  /// Documents of the first half lean to it by `inertia` bits more.
  void weigh_documents(std::span<const TermSet> documents, float inertia, bool in_parallel);
  /// False where all stay where they are.
  bool exchange(std::span<const TermSet> documents);
  void gather(std::span<TermSet> documents);

  std::span<const float> log_gains_;
  std::vector<std::uint32_t> numbers_;        ///< the new ones, from 1; 0 where a term has none yet
  std::vector<std::uint32_t> total_, first_;  ///< documents that have the term: in the range, in its first half
  std::vector<float> in_first_, in_second_;   ///< what the term adds to the leaning of a document of either half
  std::vector<std::uint8_t> second_;  ///< for each place in the range: 1 where the document is in the second half
  std::vector<Leaning> leanings_;
  std::vector<TermSet> seconds_;
};

}  // namespace quern
