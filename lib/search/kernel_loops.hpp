#pragma once
#include "quern/search/kernels.hpp"

/// Plain loops that several SIMD levels use.
namespace quern::query_loops {

/// The position of the first docID >= `target`, which must exist. A branchless binary search, since targets are
/// unpredictable.
inline unsigned search(BlockDocids block, docid_t target) {
  const docid_t* first = block.docids;
  for (unsigned size = block.size; size > 1;) {
    const unsigned half = size / 2;
    first += half & -static_cast<unsigned>(first[half - 1] < target);
    size -= half;
  }
  return static_cast<unsigned>(first - block.docids) + (*first < target);
}

inline std::size_t find(const docid_t* wanted, std::size_t first_wanted, std::size_t end, BlockDocids block,
                        FoundPosting* found) {
  std::size_t hits = 0;
  for (std::size_t i = first_wanted; i < end; ++i) {
    const unsigned place = search(block, wanted[i]);
    found[hits] = {static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(place)};
    hits += block.docids[place] == wanted[i];
  }
  return hits;
}

inline void term_scores(const freq_t* freqs, const docid_t* docids, std::size_t n, ImpactScale scale, float* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = scale.weight * impact(freqs[i], scale.constants[docids[i]]);
}

/// The compiler can't know that the docIDs differ, which makes the additions independent.
inline void add(const docid_t* docids, const float* terms, std::size_t n, docid_t begin, float* sums) {
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    float* const a = sums + (docids[i] - begin);
    float* const b = sums + (docids[i + 1] - begin);
    float* const c = sums + (docids[i + 2] - begin);
    float* const d = sums + (docids[i + 3] - begin);
    const float sum_a = *a + terms[i], sum_b = *b + terms[i + 1], sum_c = *c + terms[i + 2], sum_d = *d + terms[i + 3];
    *a = sum_a, *b = sum_b, *c = sum_c, *d = sum_d;
  }
  for (; i < n; ++i) sums[docids[i] - begin] += terms[i];
}

inline void add_impacts(const docid_t* docids, const std::uint8_t* impacts, std::size_t n, float weight, docid_t begin,
                        float* sums) {
  constexpr std::size_t step = 16;
  std::array<float, step> terms;
  for (std::size_t i = 0; i < n; i += step) {
    const std::size_t count = std::min(step, n - i);
    for (std::size_t j = 0; j < count; ++j) terms[j] = weight * static_cast<float>(impacts[i + j]);
    add(docids + i, terms.data(), count, begin, sums);
  }
}

inline std::size_t take_above(float* sums, std::size_t n, docid_t begin, float min, float nothing, ScoredArrays out) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < n; ++i) {
    out.docids[taken] = begin + static_cast<docid_t>(i);
    out.scores[taken] = sums[i];
    taken += sums[i] > min;
    sums[i] = nothing;
  }
  return taken;
}

inline std::size_t keep_above(const docid_t* docids, const float* scores, std::size_t n, float min, ScoredArrays out) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const float score = scores[i];
    out.docids[kept] = docids[i];
    out.scores[kept] = score;
    kept += score > min;
  }
  return kept;
}

inline std::size_t add_bitmaps(const BitmapWindow* lists, std::size_t n, unsigned block, float* sums) {
  std::size_t postings = 0;
  for (const BitmapWindow* list = lists; list < lists + n; ++list) {
    const std::uint8_t* impact = list->impacts + list->ranks[block];
    for (std::uint64_t bits = list->bits[block]; bits != 0; bits &= bits - 1, ++postings)
      sums[std::countr_zero(bits)] += static_cast<float>(list->weight * *impact++);
  }
  return postings;
}

/// Sums are not negative: the bits of such floats are ordered as the floats are, and compilers vectorize this.
inline void add_greatest(const float* sums, float* bounds) {
  for (unsigned block = 0; block < bitmap_window / bitmap_block; ++block, sums += bitmap_block) {
    std::uint32_t max = 0;
    for (unsigned i = 0; i < bitmap_block; ++i) max = std::max(max, std::bit_cast<std::uint32_t>(sums[i]));
    bounds[block] += std::bit_cast<float>(max);
  }
}

inline std::uint64_t blocks_above(const float* bounds, float min) {
  std::uint64_t blocks = 0;
  for (unsigned i = 0; i < bitmap_block; ++i) blocks |= std::uint64_t{bounds[i] > min} << i;
  return blocks;
}

/// With a level's add_bitmaps() and take_above().
template <auto add_bitmaps, auto take_above>
std::size_t score_block(const BitmapWindow* lists, std::size_t n, unsigned block, const float* sums, docid_t begin,
                        float min, ScoredArrays out, std::uint64_t* postings) {
  std::array<float, bitmap_block> totals;
  std::copy_n(sums, bitmap_block, totals.begin());
  *postings += add_bitmaps(lists, n, block, totals.data());
  return take_above(totals.data(), bitmap_block, begin, min, 0, out);
}

inline std::size_t count_up_to(const docid_t* docids, std::size_t n, docid_t last) {
  std::size_t count = 0;
  while (count < n && docids[count] <= last) ++count;
  return count;
}

}  // namespace quern::query_loops
