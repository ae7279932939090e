#pragma once
#include <cstdint>

#include "quern/core/bm25.hpp"

/// Impacts as small integers: a posting's part of a score (weight times impact, with the index's own k1, b and
/// statistics, the lucene IDF and a term that stands once in the query), in steps of one size for the whole index
/// (Anh, Moffat: Pruned Query Evaluation Using Pre-computed Impacts, SIGIR 2006).
namespace quern {

inline constexpr unsigned min_quantize_bits = 4, max_quantize_bits = 16;

/// The weight w_t that parts are quantized with.
inline float quantized_weight(std::uint64_t df, const CollectionStatistics& statistics, const Bm25Parameters& bm25) {
  return term_weight(1, inverse_document_frequency(Idf::lucene, statistics.documents, df), bm25);
}

/// From parts to integers of `bits` bits: max(1, floor(part · s + 1/2)), at most 2^bits - 1, where s = (2^bits - 1) /
/// top and top is the greatest part of all lists. Quotient, product and sum are each rounded once to double. A greater
/// part never gives a smaller integer, so what bounds parts bounds their integers too. Any float may come in: what is
/// no number counts for 0.
class ImpactQuantizer {
 public:
  /// `top` is finite and not negative; where it is 0 there are no parts.
  ImpactQuantizer(float top, unsigned bits)
      : top_(top), bits_(bits), scale_(top > 0 ? static_cast<double>(levels()) / static_cast<double>(top) : 0) {}

  float top() const { return top_; }
  unsigned bits() const { return bits_; }
  /// The greatest integer.
  std::uint32_t levels() const { return (std::uint32_t{1} << bits_) - 1; }
  /// How many integers a part of 1 is: parts are about integers / scale().
  double scale() const { return scale_; }

  std::uint32_t operator()(float term_score) const {
    const double steps = static_cast<double>(term_score) * scale_ + 0.5;
    if (!(steps >= 1)) return 1;
    return steps < static_cast<double>(levels()) ? static_cast<std::uint32_t>(steps) : levels();
  }

 private:
  float top_;
  unsigned bits_;
  double scale_;
};

}  // namespace quern
