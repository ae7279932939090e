#include "quern/rank/models/kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wignored-attributes"  // attributes of register types in arrays
// GCC's own headers start from undefined registers (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/// Compiles a function for AVX-512, which this machine may lack.
#define QUERN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi")))

namespace quern {
namespace {

QUERN_AVX512 __m512i load(const void* from) { return _mm512_loadu_si512(from); }

// Ranks: binary searches for 16 documents at once. Permutations look values up in tables of up to sixteen registers.

QUERN_AVX512 __m512i descend(__m512i places, __m512 thresholds, __m512 values) {
  const __mmask16 greater = _mm512_cmp_ps_mask(values, thresholds, _CMP_GT_OQ);
  const __m512i twice = _mm512_slli_epi32(places, 1);
  return _mm512_mask_or_epi32(twice, greater, twice, _mm512_set1_epi32(1));
}

/// table[place % 32] for each place.
QUERN_AVX512 __m512 look_up_32(const float* table, __m512i places) {
  return _mm512_permutex2var_ps(_mm512_loadu_ps(table), places, _mm512_loadu_ps(table + 16));
}

QUERN_AVX512 __m512 look_up_64(const float* table, __m512i places) {
  const __mmask16 upper = _mm512_test_epi32_mask(places, _mm512_set1_epi32(32));
  return _mm512_mask_blend_ps(upper, look_up_32(table, places), look_up_32(table + 32, places));
}

QUERN_AVX512 __m512 look_up_128(const float* table, __m512i places) {
  const __mmask16 upper = _mm512_test_epi32_mask(places, _mm512_set1_epi32(64));
  return _mm512_mask_blend_ps(upper, look_up_64(table, places), look_up_64(table + 64, places));
}

QUERN_AVX512 __m512i search(const float* table, unsigned levels, __m512 values) {
  const __m512 first = _mm512_loadu_ps(table);
  __m512i places = _mm512_set1_epi32(1);
  for (unsigned level = 0; level < levels && level < 4; ++level)
    places = descend(places, _mm512_permutexvar_ps(places, first), values);
  if (levels > 4) places = descend(places, _mm512_permutexvar_ps(places, _mm512_loadu_ps(table + 16)), values);
  if (levels > 5) places = descend(places, look_up_32(table + 32, places), values);
  if (levels > 6) places = descend(places, look_up_64(table + 64, places), values);
  if (levels > 7) places = descend(places, look_up_128(table + 128, places), values);
  return places;
}

QUERN_AVX512 void rank_values(const RankColumn& column, const float* table, const float* values, unsigned documents,
                              std::int8_t* ranks) {
  const __m512i before = _mm512_set1_epi32((1 << column.levels) + rank_bias);
  const __m512i missing = _mm512_set1_epi32(column.missing);
  for (unsigned d = 0; d < documents; d += 16) {
    const __m512 some = _mm512_loadu_ps(values + d);
    const __m512i found = _mm512_sub_epi32(search(table, column.levels, some), before);
    const __mmask16 none = _mm512_cmp_ps_mask(some, some, _CMP_UNORD_Q);
    const __m512i known = _mm512_mask_mov_epi32(found, none, missing);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(ranks + d), _mm512_cvtepi32_epi8(known));
  }
}

// Leaves: a mask of 64 bits marks which of 64 documents reach a step.

/// The bytes of the leaf numbers of 64 · halves documents.
template <unsigned halves>
struct LeafNumbers {
  std::array<__m512i, halves> low, high;
};

template <unsigned halves>
using Reached = std::array<__mmask64, halves*(max_step_leaves + 1)>;

/// The documents that reach a step and go right.
QUERN_AVX512 __mmask64 sent_right(const __mmask64& reached, const std::int8_t* ranks, __m512i threshold) {
  return _mm512_mask_cmpgt_epi8_mask(_load_mask64(const_cast<__mmask64*>(&reached)), load(ranks), threshold);
}

QUERN_AVX512 __m512i add_where(__mmask64 where, __m512i numbers, std::uint8_t delta) {
  return _mm512_mask_add_epi8(numbers, where, numbers, _mm512_set1_epi8(static_cast<char>(delta)));
}

template <unsigned halves>
QUERN_AVX512 void take_step(const TreeStep& step, const std::int8_t* ranks, std::size_t at, Reached<halves>& reached,
                            std::array<__mmask64, halves>& right) {
  const std::int8_t* const column = ranks + std::size_t{step.column} * documents_per_block;
  const __m512i threshold = _mm512_set1_epi8(step.threshold);
  for (unsigned half = 0; half < halves; ++half) {
    const __mmask64 here = reached[at * halves + half];
    right[half] = sent_right(reached[at * halves + half], column + 64 * half, threshold);
    _store_mask64(&reached[std::size_t{step.children[0]} * halves + half], _kandn_mask64(right[half], here));
    _store_mask64(&reached[std::size_t{step.children[1]} * halves + half], right[half]);
  }
}

template <unsigned halves>
QUERN_AVX512 LeafNumbers<halves> find_leaves(const TreeProgram& program, const StepTree& tree, const std::int8_t* ranks,
                                             Reached<halves>& reached) {
  const TreeStep* const steps = program.steps_of(tree);
  const std::uint8_t* const high_deltas = program.high_deltas.data() + tree.first_high;
  LeafNumbers<halves> leaves;
  std::array<__mmask64, halves> right;
  for (unsigned half = 0; half < halves; ++half) {
    leaves.low[half] = leaves.high[half] = _mm512_setzero_si512();
    reached[half] = ~__mmask64{0};
  }
  std::size_t at = 0;
  for (; at < tree.wide; ++at) {
    take_step<halves>(steps[at], ranks, at, reached, right);
    for (unsigned half = 0; half < halves; ++half) {
      leaves.low[half] = add_where(right[half], leaves.low[half], steps[at].delta);
      leaves.high[half] = add_where(right[half], leaves.high[half], high_deltas[at]);
    }
  }
  for (; at < tree.inner; ++at) {
    take_step<halves>(steps[at], ranks, at, reached, right);
    for (unsigned half = 0; half < halves; ++half)
      leaves.low[half] = add_where(right[half], leaves.low[half], steps[at].delta);
  }
  for (; at < tree.steps; ++at) {
    const std::int8_t* const column = ranks + std::size_t{steps[at].column} * documents_per_block;
    const __m512i threshold = _mm512_set1_epi8(steps[at].threshold);
    for (unsigned half = 0; half < halves; ++half)
      leaves.low[half] = add_where(sent_right(reached[at * halves + half], column + 64 * half, threshold),
                                   leaves.low[half], steps[at].delta);
  }
  return leaves;
}

// Leaf values: permutations of 64 bytes look up each byte; then the bytes of each document are joined.

/// The order of documents for that: interleaving bytes, pairs and fours puts documents 0 and 1, 2 and 3, ... of each
/// quarter of a register into one register.
constexpr std::array<std::uint8_t, 64> interleaved_order() {
  std::array<std::uint8_t, 64> order{};
  for (unsigned quarter = 0; quarter < 4; ++quarter)
    for (unsigned i = 0; i < 16; ++i)
      order[16 * quarter + i] = static_cast<std::uint8_t>(8 * (i / 2) + 2 * quarter + i % 2);
  return order;
}

alignas(64) constexpr std::array<std::uint8_t, 64> interleaved = interleaved_order();

QUERN_AVX512 __m512i permuted(const std::uint8_t* bytes, __m512i places) {
  return _mm512_maskz_permutexvar_epi8(~__mmask64{0}, places, load(bytes));
}

QUERN_AVX512 __m512i plane_of(const std::uint8_t* plane, std::uint32_t leaves, __m512i numbers) {
  if (leaves <= 64) return permuted(plane, numbers);
  const __m512i lower = _mm512_permutex2var_epi8(load(plane), numbers, load(plane + 64));
  if (leaves <= 128) return lower;
  const __m512i upper = _mm512_permutex2var_epi8(load(plane + 128), numbers, load(plane + 192));
  return _mm512_mask_blend_epi8(_mm512_movepi8_mask(numbers), lower, upper);
}

/// The leaf values of 64 documents, eight per register.
using Values = std::array<__m512d, 8>;

QUERN_AVX512 Values values_by_planes(const TreeProgram& program, const StepTree& tree, __m512i low) {
  const __m512i numbers = _mm512_maskz_permutexvar_epi8(~__mmask64{0}, load(interleaved.data()), low);
  const std::uint8_t* const planes = program.planes.data() + tree.first_plane;
  const std::uint32_t bytes = plane_bytes(tree.leaves);
  std::array<__m512i, 8> parts, pairs, fours;
  for (unsigned i = 0; i < 8; ++i) parts[i] = plane_of(planes + i * bytes, tree.leaves, numbers);
  for (unsigned i = 0; i < 4; ++i) {
    pairs[i] = _mm512_unpacklo_epi8(parts[2 * i], parts[2 * i + 1]);
    pairs[4 + i] = _mm512_unpackhi_epi8(parts[2 * i], parts[2 * i + 1]);
  }
  // Lower and upper four bytes of each half of the documents.
  for (unsigned half = 0; half < 2; ++half)
    for (unsigned i = 0; i < 2; ++i) {
      fours[4 * half + i] = _mm512_unpacklo_epi16(pairs[4 * half + 2 * i], pairs[4 * half + 2 * i + 1]);
      fours[4 * half + 2 + i] = _mm512_unpackhi_epi16(pairs[4 * half + 2 * i], pairs[4 * half + 2 * i + 1]);
    }
  Values values;
  for (unsigned i = 0; i < 4; ++i) {
    values[2 * i] = _mm512_castsi512_pd(_mm512_unpacklo_epi32(fours[2 * i], fours[2 * i + 1]));
    values[2 * i + 1] = _mm512_castsi512_pd(_mm512_unpackhi_epi32(fours[2 * i], fours[2 * i + 1]));
  }
  return values;
}

QUERN_AVX512 Values values_by_numbers(const TreeProgram& program, const StepTree& tree, __m512i low, __m512i high) {
  alignas(64) std::array<std::uint8_t, 64> lows, highs;
  _mm512_store_si512(lows.data(), low);
  _mm512_store_si512(highs.data(), high);
  const double* const leaves = program.leaves_of(tree);
  Values values;
  for (unsigned i = 0; i < 8; ++i) {
    const __m128i lower = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(lows.data() + 8 * i));
    const __m128i upper = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(highs.data() + 8 * i));
    const __m256i numbers = _mm256_cvtepu16_epi32(_mm_unpacklo_epi8(lower, upper));
    values[i] = _mm512_i32gather_pd(numbers, leaves, 8);
  }
  return values;
}

QUERN_AVX512 Values values_of(const TreeProgram& program, const StepTree& tree, __m512i low, __m512i high) {
  return tree.leaves <= 256 ? values_by_planes(program, tree, low) : values_by_numbers(program, tree, low, high);
}

QUERN_AVX512 void add_values(const Values& values, const TreeSums& to, unsigned from) {
  for (unsigned i = 0; i < 8; ++i) {
    double* const sums = to.sums + from + 8 * i;
    __m512d sum = _mm512_add_pd(_mm512_load_pd(sums), values[i]);
    if (to.to_float32) sum = _mm512_cvtps_pd(_mm512_cvtpd_ps(sum));
    _mm512_store_pd(sums, sum);
  }
}

QUERN_AVX512 void store_values(const Values& values, float* const& to, unsigned from) {
  for (unsigned i = 0; i < 8; ++i) _mm256_storeu_ps(to + from + 8 * i, _mm512_cvtpd_ps(values[i]));
}

template <unsigned halves>
QUERN_AVX512 void add_some(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
                           const TreeSums& sums) {
  Reached<halves> reached;
  for (std::uint64_t i = first; i < end; ++i) {
    const StepTree& tree = program.trees[i];
    const LeafNumbers<halves> found = find_leaves<halves>(program, tree, ranks, reached);
    for (unsigned half = 0; half < halves; ++half)
      add_values(values_of(program, tree, found.low[half], found.high[half]), sums, 64 * half);
  }
}

template <unsigned halves>
QUERN_AVX512 void store_some(const TreeProgram& program, std::uint64_t first, std::uint64_t end,
                             const std::int8_t* ranks, float* leaves) {
  Reached<halves> reached;
  for (std::uint64_t i = first; i < end; ++i, leaves += documents_per_block) {
    const StepTree& tree = program.trees[i];
    const LeafNumbers<halves> found = find_leaves<halves>(program, tree, ranks, reached);
    for (unsigned half = 0; half < halves; ++half)
      store_values(values_of(program, tree, found.low[half], found.high[half]), leaves, 64 * half);
  }
}

QUERN_AVX512 void add_trees(const TreeProgram& program, std::uint64_t first, std::uint64_t end,
                            const std::int8_t* ranks, unsigned documents, const TreeSums& sums) {
  if (documents <= 32)  // for which shorter registers are faster
    avx2_ranker_kernels.add_trees(program, first, end, ranks, documents, sums);
  else if (documents <= 64)
    add_some<1>(program, first, end, ranks, sums);
  else
    add_some<2>(program, first, end, ranks, sums);
}

QUERN_AVX512 void store_trees(const TreeProgram& program, std::uint64_t first, std::uint64_t end,
                              const std::int8_t* ranks, unsigned documents, float* leaves) {
  if (documents <= 32)  // for which shorter registers are faster
    avx2_ranker_kernels.store_trees(program, first, end, ranks, documents, leaves);
  else if (documents <= 64)
    store_some<1>(program, first, end, ranks, leaves);
  else
    store_some<2>(program, first, end, ranks, leaves);
}

// Layers: keeps some outputs of 32 documents at a time in registers.

template <unsigned outputs>
QUERN_AVX512 void sum_outputs(const DenseBlock& block, std::size_t first, unsigned from) {
  const std::size_t inputs = block.layer->inputs;
  const float* const weights = block.layer->weights.data() + first * inputs;
  std::array<__m512, 2 * outputs> sums;
  for (unsigned j = 0; j < outputs; ++j) sums[2 * j] = sums[2 * j + 1] = _mm512_set1_ps(block.layer->bias[first + j]);
  const float* in = block.in + from;
  for (std::size_t i = 0; i < inputs; ++i, in += documents_per_block) {
    const __m512 low = _mm512_loadu_ps(in), high = _mm512_loadu_ps(in + 16);
    for (unsigned j = 0; j < outputs; ++j) {
      const __m512 weight = _mm512_set1_ps(weights[j * inputs + i]);
      sums[2 * j] = _mm512_add_ps(sums[2 * j], _mm512_mul_ps(low, weight));
      sums[2 * j + 1] = _mm512_add_ps(sums[2 * j + 1], _mm512_mul_ps(high, weight));
    }
  }
  for (unsigned j = 0; j < outputs; ++j) {
    float* const out = block.out + (first + j) * documents_per_block + from;
    _mm512_storeu_ps(out, sums[2 * j]);
    _mm512_storeu_ps(out + 16, sums[2 * j + 1]);
  }
}

QUERN_AVX512 void sum_layer(const DenseBlock& block, unsigned documents) {
  constexpr unsigned together = 8;
  for (unsigned from = 0; from < documents; from += 32) {
    std::size_t j = 0;
    for (; j + together <= block.layer->outputs; j += together) sum_outputs<together>(block, j, from);
    for (; j < block.layer->outputs; ++j) sum_outputs<1>(block, j, from);
  }
}

}  // namespace

const RankerKernels avx512_ranker_kernels = {rank_values, add_trees, store_trees, sum_layer, true};

}  // namespace quern

#endif
