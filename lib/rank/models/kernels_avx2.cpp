#include "quern/rank/models/kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wignored-attributes"  // attributes of register types in arrays
#endif

/// The kernels of kernels_avx512.cpp with byte masks instead of bit masks. They repeat its structure because all
/// instructions differ.
namespace quern {
namespace {

__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

// Ranks: binary searches for eight documents at once, the first levels by permutations.

__m256i descend(__m256i places, __m256 thresholds, __m256 values) {
  const __m256i greater = _mm256_castps_si256(_mm256_cmp_ps(values, thresholds, _CMP_GT_OQ));
  return _mm256_sub_epi32(_mm256_slli_epi32(places, 1), greater);
}

__m256i search(const float* table, unsigned levels, __m256 values) {
  const __m256 first = _mm256_loadu_ps(table);
  __m256i places = _mm256_set1_epi32(1);
  for (unsigned level = 0; level < levels && level < 3; ++level)
    places = descend(places, _mm256_permutevar8x32_ps(first, places), values);
  if (levels > 3) places = descend(places, _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), places), values);
  if (levels > 4) {
    const __m256 lower = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 16), places);
    const __m256 upper = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 24), places);
    // Shifts the bit that selects the half into the sign.
    const __m256 half = _mm256_castsi256_ps(_mm256_slli_epi32(places, 28));
    places = descend(places, _mm256_blendv_ps(lower, upper, half), values);
  }
  for (unsigned level = 5; level < levels; ++level)
    places = descend(places, _mm256_i32gather_ps(table, places, 4), values);
  return places;
}

__m256i ranks_of(const RankColumn& column, const float* table, const float* from) {
  const __m256 values = _mm256_loadu_ps(from);
  const __m256i before = _mm256_set1_epi32((1 << column.levels) + rank_bias);
  const __m256i found = _mm256_sub_epi32(search(table, column.levels, values), before);
  const __m256i none = _mm256_castps_si256(_mm256_cmp_ps(values, values, _CMP_UNORD_Q));
  return _mm256_blendv_epi8(found, _mm256_set1_epi32(column.missing), none);
}

void rank_values(const RankColumn& column, const float* table, const float* values, unsigned documents,
                 std::int8_t* ranks) {
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (unsigned d = 0; d < documents; d += 32) {
    const __m256i first =
        _mm256_packs_epi32(ranks_of(column, table, values + d), ranks_of(column, table, values + d + 8));
    const __m256i second =
        _mm256_packs_epi32(ranks_of(column, table, values + d + 16), ranks_of(column, table, values + d + 24));
    const __m256i all = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(first, second), in_order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(ranks + d), all);
  }
}

// Leaves: a mask of 32 bytes marks which of 32 documents reach a step.

/// The bytes of the leaf numbers of 32 · parts documents.
template <unsigned parts>
struct LeafNumbers {
  alignas(32) std::array<std::uint8_t, 32 * parts> low, high;
};

template <unsigned parts>
using Reached = std::array<__m256i, parts*(max_step_leaves + 1)>;
template <unsigned parts>
using Parts = std::array<__m256i, parts>;

template <unsigned parts>
Parts<parts> sent_right(const TreeStep& step, const std::int8_t* ranks, const __m256i* here) {
  const std::int8_t* const column = ranks + std::size_t{step.column} * documents_per_block;
  const __m256i threshold = _mm256_set1_epi8(step.threshold);
  Parts<parts> right;
  for (unsigned part = 0; part < parts; ++part)
    right[part] = _mm256_and_si256(here[part], _mm256_cmpgt_epi8(load(column + 32 * part), threshold));
  return right;
}

template <unsigned parts>
Parts<parts> take_step(const TreeStep& step, const std::int8_t* ranks, std::size_t at, Reached<parts>& reached) {
  const Parts<parts> right = sent_right<parts>(step, ranks, &reached[at * parts]);
  for (unsigned part = 0; part < parts; ++part) {
    const __m256i left = _mm256_andnot_si256(right[part], reached[at * parts + part]);
    reached[std::size_t{step.children[0]} * parts + part] = left;
    reached[std::size_t{step.children[1]} * parts + part] = right[part];
  }
  return right;
}

template <unsigned parts>
void add_where(const Parts<parts>& where, std::uint8_t delta, Parts<parts>& numbers) {
  const __m256i all = _mm256_set1_epi8(static_cast<char>(delta));
  for (unsigned part = 0; part < parts; ++part)
    numbers[part] = _mm256_add_epi8(numbers[part], _mm256_and_si256(where[part], all));
}

template <unsigned parts>
void find_leaves(const TreeProgram& program, const StepTree& tree, const std::int8_t* ranks, Reached<parts>& reached,
                 LeafNumbers<parts>& leaves) {
  const TreeStep* const steps = program.steps_of(tree);
  Parts<parts> low, high;
  for (unsigned part = 0; part < parts; ++part) {
    low[part] = high[part] = _mm256_setzero_si256();
    reached[part] = _mm256_set1_epi8(-1);
  }
  std::size_t at = 0;
  for (; at < tree.wide; ++at) {
    const Parts<parts> right = take_step<parts>(steps[at], ranks, at, reached);
    add_where<parts>(right, steps[at].delta, low);
    add_where<parts>(right, program.high_deltas[tree.first_high + at], high);
  }
  for (; at < tree.inner; ++at) add_where<parts>(take_step<parts>(steps[at], ranks, at, reached), steps[at].delta, low);
  for (; at < tree.steps; ++at)
    add_where<parts>(sent_right<parts>(steps[at], ranks, &reached[at * parts]), steps[at].delta, low);
  for (unsigned part = 0; part < parts; ++part) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(leaves.low.data() + 32 * part), low[part]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(leaves.high.data() + 32 * part), high[part]);
  }
}

/// The leaf values of four documents.
__m256d values_of(const double* leaves, const std::uint8_t* low, const std::uint8_t* high) {
  const auto value = [&](unsigned d) { return leaves[std::size_t{high[d]} << 8 | low[d]]; };
  return _mm256_setr_pd(value(0), value(1), value(2), value(3));
}

/// Calls what(tree, document, values) for four documents at a time.
template <unsigned parts, class What>
void for_each_four(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
                   What what) {
  Reached<parts> reached;
  LeafNumbers<parts> found;
  for (std::uint64_t i = first; i < end; ++i) {
    const StepTree& tree = program.trees[i];
    find_leaves<parts>(program, tree, ranks, reached, found);
    for (unsigned d = 0; d < 32 * parts; d += 4)
      what(i, d, values_of(program.leaves_of(tree), found.low.data() + d, found.high.data() + d));
  }
}

template <unsigned parts>
void add_some(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
              double* sums, bool to_float32) {
  if (to_float32) {
    for_each_four<parts>(program, first, end, ranks, [&](std::uint64_t, unsigned d, __m256d leaves) {
      const __m256d sum = _mm256_add_pd(_mm256_load_pd(sums + d), leaves);
      _mm256_store_pd(sums + d, _mm256_cvtps_pd(_mm256_cvtpd_ps(sum)));
    });
  } else {
    for_each_four<parts>(program, first, end, ranks, [&](std::uint64_t, unsigned d, __m256d leaves) {
      _mm256_store_pd(sums + d, _mm256_add_pd(_mm256_load_pd(sums + d), leaves));
    });
  }
}

template <unsigned parts>
void store_some(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
                float* to) {
  for_each_four<parts>(program, first, end, ranks, [&](std::uint64_t tree, unsigned d, __m256d leaves) {
    _mm_storeu_ps(to + (tree - first) * documents_per_block + d, _mm256_cvtpd_ps(leaves));
  });
}

void add_trees(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
               unsigned documents, const TreeSums& to) {
  for (unsigned from = 0; from < documents; from += 64)
    if (documents - from <= 32)
      add_some<1>(program, first, end, ranks + from, to.sums + from, to.to_float32);
    else
      add_some<2>(program, first, end, ranks + from, to.sums + from, to.to_float32);
}

void store_trees(const TreeProgram& program, std::uint64_t first, std::uint64_t end, const std::int8_t* ranks,
                 unsigned documents, float* leaves) {
  for (unsigned from = 0; from < documents; from += 64)
    if (documents - from <= 32)
      store_some<1>(program, first, end, ranks + from, leaves + from);
    else
      store_some<2>(program, first, end, ranks + from, leaves + from);
}

// Layers: keeps some outputs of 16 documents at a time in registers.

template <unsigned outputs>
void sum_outputs(const DenseBlock& block, std::size_t first, unsigned from) {
  const std::size_t inputs = block.layer->inputs;
  const float* const weights = block.layer->weights.data() + first * inputs;
  std::array<__m256, 2 * outputs> sums;
  for (unsigned j = 0; j < outputs; ++j) sums[2 * j] = sums[2 * j + 1] = _mm256_set1_ps(block.layer->bias[first + j]);
  const float* in = block.in + from;
  for (std::size_t i = 0; i < inputs; ++i, in += documents_per_block) {
    const __m256 low = _mm256_loadu_ps(in), high = _mm256_loadu_ps(in + 8);
    for (unsigned j = 0; j < outputs; ++j) {
      const __m256 weight = _mm256_set1_ps(weights[j * inputs + i]);
      sums[2 * j] = _mm256_add_ps(sums[2 * j], _mm256_mul_ps(low, weight));
      sums[2 * j + 1] = _mm256_add_ps(sums[2 * j + 1], _mm256_mul_ps(high, weight));
    }
  }
  for (unsigned j = 0; j < outputs; ++j) {
    float* const out = block.out + (first + j) * documents_per_block + from;
    _mm256_storeu_ps(out, sums[2 * j]);
    _mm256_storeu_ps(out + 8, sums[2 * j + 1]);
  }
}

void sum_layer(const DenseBlock& block, unsigned documents) {
  constexpr unsigned together = 4;
  for (unsigned from = 0; from < documents; from += 16) {
    std::size_t j = 0;
    for (; j + together <= block.layer->outputs; j += together) sum_outputs<together>(block, j, from);
    for (; j < block.layer->outputs; ++j) sum_outputs<1>(block, j, from);
  }
}

}  // namespace

const RankerKernels avx2_ranker_kernels = {rank_values, add_trees, store_trees, sum_layer, false};

}  // namespace quern

#endif
