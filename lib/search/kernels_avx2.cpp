#include "quern/search/kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#include <bit>

#include "quern/codec/codec.hpp"
#include "quern/search/kernel_loops.hpp"

namespace quern {
namespace {

constexpr unsigned group = 16;         ///< docIDs of a block compared together
constexpr std::size_t few_wanted = 3;  ///< up to this number, binary searches cost less

__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
unsigned lanes_of(__m256i mask) { return static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask))); }

/// The greatest docID of each group of a block, minus 2^31 because registers compare signed numbers.
struct GroupMaxima {
  alignas(32) std::array<std::int32_t, max_block_size / group> maxima;
  unsigned registers;

  explicit GroupMaxima(BlockDocids block) : registers((block.size + 8 * group - 1) / (8 * group)) {
    const unsigned full = (block.size - 1) / group;
    for (unsigned i = 0; i < full; ++i) maxima[i] = static_cast<std::int32_t>(block.docids[group * i + 15] ^ 1u << 31);
    // The last group is the one left if all others end before the docID.
    for (unsigned i = full; i < 8 * registers; ++i) maxima[i] = INT32_MAX;
  }

  /// The group that contains `docid` if any does.
  unsigned of(docid_t docid) const {
    const __m256i wanted = _mm256_set1_epi32(static_cast<int>(docid ^ 1u << 31));
    unsigned below = 0;
    for (unsigned i = 0; i < registers; ++i)
      below += static_cast<unsigned>(std::popcount(lanes_of(_mm256_cmpgt_epi32(wanted, load(maxima.data() + 8 * i)))));
    return below;
  }
};

std::size_t find(const docid_t* wanted, std::size_t first_wanted, std::size_t end, BlockDocids block,
                 FoundPosting* found) {
  if (end - first_wanted <= few_wanted) return query_loops::find(wanted, first_wanted, end, block, found);
  const GroupMaxima maxima(block);
  std::size_t hits = 0;
  for (std::size_t i = first_wanted; i < end; ++i) {
    const unsigned first = group * maxima.of(wanted[i]);
    const __m256i docid = _mm256_set1_epi32(static_cast<int>(wanted[i]));
    const unsigned equal = lanes_of(_mm256_cmpeq_epi32(docid, load(block.docids + first))) |
                           lanes_of(_mm256_cmpeq_epi32(docid, load(block.docids + first + 8))) << 8;
    const unsigned place = first + static_cast<unsigned>(std::countr_zero(equal));
    found[hits] = {static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(place)};
    hits += equal != 0;
  }
  return hits;
}

void term_scores(const freq_t* freqs, const docid_t* docids, std::size_t n, ImpactScale scale, float* out) {
  const __m256 weight = _mm256_set1_ps(scale.weight);
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i integers = load(freqs + i);
    // The conversion treats numbers as signed.
    if (lanes_of(integers) != 0) {
      query_loops::term_scores(freqs + i, docids + i, 8, scale, out + i);
      continue;
    }
    const __m256 f = _mm256_cvtepi32_ps(integers);
    const docid_t* const d = docids + i;
    const float* const k = scale.constants;
    // Eight loads cost less than a gather on AMD's processors, and no more on Intel's.
    const __m256 constants = _mm256_setr_ps(k[d[0]], k[d[1]], k[d[2]], k[d[3]], k[d[4]], k[d[5]], k[d[6]], k[d[7]]);
    _mm256_storeu_ps(out + i, _mm256_mul_ps(weight, _mm256_div_ps(f, _mm256_add_ps(constants, f))));
  }
  query_loops::term_scores(freqs + i, docids + i, n - i, scale, out + i);
}

std::size_t take_above(float* sums, std::size_t n, docid_t begin, float min, float nothing, ScoredArrays out) {
  const __m256 limit = _mm256_set1_ps(min), mark = _mm256_set1_ps(nothing);
  // Few documents pass, so one branch for many of them is rarely mispredicted.
  constexpr std::size_t step = 64;
  std::size_t taken = 0;
  const auto mask_at = [&](std::size_t i) {
    const __m256 above = _mm256_cmp_ps(_mm256_loadu_ps(sums + i), limit, _CMP_GT_OQ);
    return static_cast<std::uint64_t>(static_cast<unsigned>(_mm256_movemask_ps(above)));
  };
  for (std::size_t from = 0; from < n; from += step) {
    const std::size_t to = std::min(from + step, (n + kernel_slack - 1) / kernel_slack * kernel_slack);
    std::uint64_t above = 0;
    for (std::size_t i = from; i < to; i += 8) above |= mask_at(i) << (i - from);
    for (; above != 0; above &= above - 1) {
      const std::size_t i = from + static_cast<std::size_t>(std::countr_zero(above));
      out.docids[taken] = begin + static_cast<docid_t>(i);
      out.scores[taken++] = sums[i];
    }
    for (std::size_t i = from; i < to; i += 8) _mm256_storeu_ps(sums + i, mark);
  }
  return taken;
}

std::size_t count_up_to(const docid_t* docids, std::size_t n, docid_t last) {
  const __m256i limit = _mm256_set1_epi32(static_cast<int>(last ^ 1u << 31)), sign = _mm256_set1_epi32(INT32_MIN);
  std::size_t count = 0;
  for (; count < n; count += 8) {
    const __m256i above = _mm256_cmpgt_epi32(_mm256_xor_si256(load(docids + count), sign), limit);
    if (const unsigned lanes = lanes_of(above)) {
      count += static_cast<std::size_t>(std::countr_zero(lanes));
      break;
    }
  }
  return std::min(count, n);
}

/// For each byte of a bitmap: where the impacts of its documents are, as _mm_shuffle_epi8 takes it.
constexpr auto impact_places = [] {
  std::array<std::array<std::uint8_t, 8>, 256> places = {};
  for (unsigned bits = 0; bits < places.size(); ++bits)
    for (unsigned i = 0, place = 0; i < 8; ++i)
      places[bits][i] = (bits >> i & 1) != 0 ? static_cast<std::uint8_t>(place++) : std::uint8_t{0x80};
  return places;
}();

__m128i places_of(std::uint64_t bits) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(impact_places[bits & 0xff].data()));
}

/// The impacts of 16 documents, 0 for those without the term; moves past them.
__m128i spread(std::uint64_t bits, const std::uint8_t*& impacts) {
  const int in_first = std::popcount(bits & 0xff);
  // Saturation keeps the mark of documents without the term.
  const __m128i second = _mm_adds_epu8(places_of(bits >> 8), _mm_set1_epi8(static_cast<char>(in_first)));
  const __m128i loaded = _mm_loadu_si128(reinterpret_cast<const __m128i*>(impacts));
  impacts += std::popcount(bits & 0xffff);
  return _mm_shuffle_epi8(loaded, _mm_unpacklo_epi64(places_of(bits), second));
}

void add_pairs(float* to, __m128i pairs, __m256i weights) {
  const __m256i sums = _mm256_madd_epi16(_mm256_cvtepu8_epi16(pairs), weights);
  _mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), _mm256_cvtepi32_ps(sums)));
}

std::size_t add_bitmaps(const BitmapWindow* lists, std::size_t n, unsigned block, float* to) {
  std::size_t postings = 0;
  for (std::size_t i = 0; i < n; i += 2) {
    const BitmapWindow &a = lists[i], &b = lists[std::min(i + 1, n - 1)];
    const std::int32_t second = i + 1 < n ? b.weight : 0;
    const __m256i weights = _mm256_set1_epi32(second << 16 | a.weight);
    const std::uint8_t* impacts_a = a.impacts + a.ranks[block];
    const std::uint8_t* impacts_b = b.impacts + b.ranks[block];
    for (unsigned from = 0; from < bitmap_block; from += 16) {
      const __m128i of_a = spread(a.bits[block] >> from, impacts_a), of_b = spread(b.bits[block] >> from, impacts_b);
      add_pairs(to + from, _mm_unpacklo_epi8(of_a, of_b), weights);
      add_pairs(to + from + 8, _mm_unpackhi_epi8(of_a, of_b), weights);
    }
    postings += static_cast<std::size_t>(std::popcount(a.bits[block]));
    if (i + 1 < n) postings += static_cast<std::size_t>(std::popcount(b.bits[block]));
  }
  return postings;
}

std::uint64_t blocks_above(const float* bounds, float min) {
  const __m256 limit = _mm256_set1_ps(min);
  std::uint64_t blocks = 0;
  for (unsigned i = 0; i < bitmap_block; i += 8) {
    const int above = _mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(bounds + i), limit, _CMP_GT_OQ));
    blocks |= std::uint64_t{static_cast<unsigned>(above)} << i;
  }
  return blocks;
}

}  // namespace

const QueryKernels avx2_query_kernels = {find,
                                         term_scores,
                                         query_loops::add,
                                         query_loops::add_impacts,
                                         take_above,
                                         query_loops::keep_above,
                                         count_up_to,
                                         add_bitmaps,
                                         query_loops::add_greatest,
                                         blocks_above,
                                         query_loops::score_block<add_bitmaps, take_above>};

}  // namespace quern

#endif
