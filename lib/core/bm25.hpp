#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "quern/core/check_range.hpp"
#include "quern/core/types.hpp"

/// BM25 with a fixed order of float operations, so that every engine gives the same bits (Robertson, Walker: Some
/// Simple Effective Approximations to the 2-Poisson Model, SIGIR 1994). Term t contributes w_t * (f / (K_d + f)) to
/// document d, each operation rounded once to float32; K_d and w_t are computed in double and rounded once. A score is
/// the float32 sum of the contributions, with terms in increasing order of df and ties broken by term ID. Compiled
/// without floating-point contraction.
namespace quern {

struct Bm25Parameters {
  double k1 = 1.2;
  double b = 0.75;
  bool operator==(const Bm25Parameters&) const = default;
};

/// Throws InvalidArgument if k1 or b is out of range or not a number.
inline void check_bm25(const Bm25Parameters& parameters) {
  check_range("k1", parameters.k1, 0, 1000);
  check_range("b", parameters.b, 0, 1);
}

/// Statistics of the whole collection, even where the index is only a shard of it.
struct CollectionStatistics {
  std::uint64_t documents = 0;  ///< N, including empty documents
  std::uint64_t tokens = 0;     ///< in the titles and bodies of all documents

  double average_length() const {
    return documents == 0 || tokens == 0 ? 1.0 : static_cast<double>(tokens) / static_cast<double>(documents);
  }
};

/// K_d of a document with `length` tokens.
inline float document_constant(std::uint32_t length, double average_length, const Bm25Parameters& parameters) {
  const double ratio = static_cast<double>(length) / average_length;
  return static_cast<float>(parameters.k1 * (1.0 - parameters.b + parameters.b * ratio));
}

/// f / (K_d + f): the contribution without the weight w_t, in (0, 1].
inline float impact(freq_t freq, float constant) {
  const float f = static_cast<float>(freq);
  return f / (constant + f);
}

enum class Idf { lucene, robertson };

/// lucene: ln(1 + (N - df + 0.5) / (df + 0.5)); robertson: ln((N - df + 0.5) / (df + 0.5)), at least 1e-6.
inline double inverse_document_frequency(Idf idf, std::uint64_t documents, std::uint64_t df) {
  const double odds =
      (static_cast<double>(documents) - static_cast<double>(df) + 0.5) / (static_cast<double>(df) + 0.5);
  if (idf == Idf::lucene) return std::log(1.0 + odds);
  return std::max(1e-6, std::log(odds));
}

/// w_t of a term that occurs `count` times in the query, or whose query weight is `count`.
inline float term_weight(double count, double idf, const Bm25Parameters& parameters) {
  return static_cast<float>(count * idf * (parameters.k1 + 1.0));
}

}  // namespace quern
