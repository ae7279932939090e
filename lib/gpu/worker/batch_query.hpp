#pragma once
#include <cstddef>
#include <cstdint>

/// A batch of ranked queries, as kernels take it. Scoring has two steps. First, each document gets an upper bound of
/// its score in *units*: small integers, which can be added in any order and whose sums fit 16 bits. Then the few
/// documents whose sum reaches the query's threshold are scored exactly. A query's *scale* is the number of units of a
/// score of 1.
namespace quern {
class DocumentSet;
}  // namespace quern

namespace quern::gpu {

/// Which postings a union may skip.
enum class Pruning : std::uint8_t {
  none,    ///< none
  lists,   ///< those that upper bounds of whole lists rule out (WAND)
  blocks,  ///< those that upper bounds of ranges or blocks rule out (block-max WAND)
};

/// What a GPU does with a batch.
struct BatchWork {
  bool intersect = false;           ///< find documents with all terms, not with any
  Pruning pruning = Pruning::none;  ///< of unions
  std::size_t k = 10;
  const DocumentSet* passing = nullptr;  ///< documents that may be results; null: all
  std::uint64_t passing_number = 0;      ///< of that set, not 0: a GPU that was sent it needs no other copy
};

/// A posting's value has 16 bits: its impact in steps of 1 / 65535, rounded up, or its quantized impact.
inline constexpr std::uint32_t value_steps = 65535;
/// Maximum sum of units.
inline constexpr std::uint32_t max_units = 65535;
/// Maximum terms of a query; the CPU answers queries with more.
inline constexpr std::size_t max_terms = 64;
/// The number of steps in which a query's threshold rises.
inline constexpr std::uint32_t threshold_steps = 256;

/// Units of an entry, whose lower 16 bits are the value: `weight` and `offset` are BatchTerm::unit_weight and
/// unit_offset.
constexpr std::uint32_t units_of(std::uint32_t entry, std::uint32_t weight, std::uint32_t offset) {
  return static_cast<std::uint32_t>(std::uint64_t{entry << 16} * weight >> 32) + offset;
}

/// Units of a score or term score, rounded up, at the query's scale.
constexpr std::uint32_t units_of_score(float scale, float score) {
  const float exact = score * scale * (1 + 0x1p-20f);
  const auto units = static_cast<std::uint32_t>(exact);
  return units + (static_cast<float>(units) < exact);
}

struct BatchTerm {
  std::uint32_t list = 0;         ///< its number in the batch; until it has one, the term
  float weight = 0;               ///< w_t, or n_t for quantized scores
  std::uint32_t unit_weight = 0;  ///< units per value, times 2^16: see units_of()
  std::uint32_t unit_offset = 0;  ///< 1 if units are rounded up, else 0
  std::uint32_t max_units = 0;    ///< upper bound of a posting's units
  float max_term_score = 0;       ///< upper bound of the list's term scores
  float impact_steps = 0;         ///< a quantized impact is at most max(1, impact_steps * impact + 1/2)
};

struct BatchQuery {
  std::uint32_t first_term = 0, terms = 0;
  std::uint32_t min_units = 1;   ///< minimum units of a result: the primed threshold
  std::uint32_t step_shift = 0;  ///< a step of the threshold is 2^step_shift units
  float scale = 1;               ///< units of a score of 1
  float lower_factor = 1;        ///< the score of a sum of u units is at least u * lower_factor - lower_margin units
  std::uint32_t lower_margin = 0;
  std::uint32_t exact_units = 0;  ///< 1 if sums of units are the scores, else 0
  std::uint32_t first_task = 0;   ///< for intersections: blocks in the shortest lists of the previous queries
};

}  // namespace quern::gpu
