#include "quern/search/kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#include "quern/search/kernel_loops.hpp"

#if defined(__GNUC__) && !defined(__clang__)
// GCC's own headers start from undefined registers (GCC bug 105593).
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

/// Compiles a function for AVX-512, which this machine may lack. Without ThreadSanitizer: between its calls GCC 12
/// stores the 16 bits of a mask and reads back 32. For the same reason intrinsics count the bits of masks.
#define QUERN_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2"), no_sanitize("thread")))

namespace quern {
namespace {

constexpr unsigned group = 16;         ///< docIDs of a block compared together
constexpr std::size_t few_wanted = 3;  ///< up to this number, binary searches cost less

QUERN_AVX512 __m512i load(const void* from) { return _mm512_loadu_si512(from); }
QUERN_AVX512 __mmask16 first_lanes(std::size_t n) { return static_cast<__mmask16>(n >= 16 ? 0xffffu : (1u << n) - 1); }

/// The greatest docIDs of up to 8 groups of a block. The last group needs none: it is the one left if all others end
/// before the docID.
class Maxima8 {
 public:
  QUERN_AVX512 explicit Maxima8(BlockDocids block) {
    const auto groups = static_cast<__mmask8>((1u << (block.size - 1) / group) - 1);
    maxima_ = _mm256_mmask_i32gather_epi32(_mm256_set1_epi32(-1), groups, places(), block.docids, sizeof(docid_t));
  }
  /// The group that contains `docid` if any does.
  QUERN_AVX512 unsigned of(docid_t docid) const {
    return static_cast<unsigned>(
        _mm_popcnt_u32(_mm256_cmplt_epu32_mask(maxima_, _mm256_set1_epi32(static_cast<int>(docid)))));
  }

 private:
  QUERN_AVX512 static __m256i places() { return _mm256_setr_epi32(15, 31, 47, 63, 79, 95, 111, 127); }

  __m256i maxima_;
};

/// The greatest docIDs of up to 16 or 32 groups of a block.
template <unsigned registers>
class Maxima16 {
 public:
  QUERN_AVX512 explicit Maxima16(BlockDocids block) {
    const __m512i places = _mm512_setr_epi32(15, 31, 47, 63, 79, 95, 111, 127, 143, 159, 175, 191, 207, 223, 239, 255);
    const std::size_t full = (block.size - 1) / group;
    for (unsigned i = 0; i < registers; ++i) {
      const std::size_t before = std::min<std::size_t>(full, 16 * i);
      maxima_[i] = _mm512_mask_i32gather_epi32(_mm512_set1_epi32(-1), first_lanes(full - before), places,
                                               block.docids + 256 * i, sizeof(docid_t));
    }
  }
  QUERN_AVX512 unsigned of(docid_t docid) const {
    unsigned below = 0;
    for (unsigned i = 0; i < registers; ++i)
      below += static_cast<unsigned>(
          _mm_popcnt_u32(_mm512_cmplt_epu32_mask(maxima_[i], _mm512_set1_epi32(static_cast<int>(docid)))));
    return below;
  }

 private:
  __m512i maxima_[registers];
};

template <class Maxima>
QUERN_AVX512 std::size_t find_among(const docid_t* wanted, std::size_t first_wanted, std::size_t end, BlockDocids block,
                                    FoundPosting* found) {
  const Maxima maxima(block);
  std::size_t hits = 0;
  for (std::size_t i = first_wanted; i < end; ++i) {
    const unsigned first = group * maxima.of(wanted[i]);
    const unsigned equal =
        _mm512_cmpeq_epi32_mask(_mm512_set1_epi32(static_cast<int>(wanted[i])), load(block.docids + first));
    const unsigned place = first + _tzcnt_u32(equal);
    found[hits] = {static_cast<std::uint16_t>(i), static_cast<std::uint16_t>(place)};
    hits += equal != 0;
  }
  return hits;
}

QUERN_AVX512 std::size_t find(const docid_t* wanted, std::size_t first_wanted, std::size_t end, BlockDocids block,
                              FoundPosting* found) {
  if (end - first_wanted <= few_wanted) return query_loops::find(wanted, first_wanted, end, block, found);
  if (block.size <= 8 * group) return find_among<Maxima8>(wanted, first_wanted, end, block, found);
  if (block.size <= 16 * group) return find_among<Maxima16<1>>(wanted, first_wanted, end, block, found);
  return find_among<Maxima16<2>>(wanted, first_wanted, end, block, found);
}

/// Loading the constants one by one is the bottleneck, and gathers of wider registers cost more.
void term_scores(const freq_t* freqs, const docid_t* docids, std::size_t n, ImpactScale scale, float* out) {
  avx2_query_kernels.term_scores(freqs, docids, n, scale, out);
}

QUERN_AVX512 std::size_t take_above(float* sums, std::size_t n, docid_t begin, float min, float nothing,
                                    ScoredArrays out) {
  const __m512 limit = _mm512_set1_ps(min), mark = _mm512_set1_ps(nothing);
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < n; i += 16) {
    const __m512 values = _mm512_loadu_ps(sums + i);
    const __mmask16 above = _mm512_cmp_ps_mask(values, limit, _CMP_GT_OQ);
    _mm512_storeu_ps(sums + i, mark);
    if (above == 0) continue;
    const __m512i docids =
        _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(begin + static_cast<docid_t>(i))));
    _mm512_storeu_si512(out.docids + taken, _mm512_maskz_compress_epi32(above, docids));
    _mm512_storeu_ps(out.scores + taken, _mm512_maskz_compress_ps(above, values));
    taken += static_cast<std::size_t>(_mm_popcnt_u32(above));
  }
  return taken;
}

QUERN_AVX512 std::size_t keep_above(const docid_t* docids, const float* scores, std::size_t n, float min,
                                    ScoredArrays out) {
  const __m512 limit = _mm512_set1_ps(min);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; i += 16) {
    const __m512 values = _mm512_loadu_ps(scores + i);
    const __m512i loaded = load(docids + i);
    const __mmask16 above = _mm512_mask_cmp_ps_mask(first_lanes(n - i), values, limit, _CMP_GT_OQ);
    const auto count = static_cast<std::size_t>(_mm_popcnt_u32(above));
    // Documents after these may not be read yet.
    _mm512_mask_storeu_epi32(out.docids + kept, first_lanes(count), _mm512_maskz_compress_epi32(above, loaded));
    _mm512_mask_storeu_ps(out.scores + kept, first_lanes(count), _mm512_maskz_compress_ps(above, values));
    kept += count;
  }
  return kept;
}

QUERN_AVX512 std::size_t count_up_to(const docid_t* docids, std::size_t n, docid_t last) {
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(last));
  for (std::size_t i = 0; i < n; i += 16) {
    const unsigned above = _mm512_mask_cmpgt_epu32_mask(first_lanes(n - i), load(docids + i), limit);
    if (above != 0) return i + _tzcnt_u32(above);
  }
  return n;
}

/// The impacts of a block's documents, 0 for those without the term.
QUERN_AVX512 __m512i spread(const BitmapWindow& list, unsigned block) {
  return _mm512_maskz_expand_epi8(_cvtu64_mask64(list.bits[block]), load(list.impacts + list.ranks[block]));
}

QUERN_AVX512 std::size_t count(const BitmapWindow& list, unsigned block) {
  return static_cast<std::size_t>(_mm_popcnt_u64(list.bits[block]));
}

/// Adds first * a + second * b to four registers of sums, for the impacts a and b of 64 documents. Each register holds
/// a quarter of each 16 documents, in the order of the unpacking instructions.
QUERN_AVX512 void add_pair(__m512i a, __m512i b, __m512i weights, __m512i* sums) {
  const __m512i zero = _mm512_setzero_si512();
  const __m512i low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
  sums[0] = _mm512_add_epi32(sums[0], _mm512_madd_epi16(_mm512_unpacklo_epi8(low, zero), weights));
  sums[1] = _mm512_add_epi32(sums[1], _mm512_madd_epi16(_mm512_unpackhi_epi8(low, zero), weights));
  sums[2] = _mm512_add_epi32(sums[2], _mm512_madd_epi16(_mm512_unpacklo_epi8(high, zero), weights));
  sums[3] = _mm512_add_epi32(sums[3], _mm512_madd_epi16(_mm512_unpackhi_epi8(high, zero), weights));
}

/// Adds up the bitmaps of a block to `sums`, in the order of documents. Returns the number of postings.
[[gnu::always_inline]] QUERN_AVX512 inline std::size_t sum_up(const BitmapWindow* lists, std::size_t n, unsigned block,
                                                              __m512* totals) {
  __m512i sums[4] = {};
  std::size_t postings = 0, i = 0;
  for (; i + 2 <= n; i += 2) {
    const __m512i weights = _mm512_set1_epi32(lists[i + 1].weight << 16 | lists[i].weight);
    add_pair(spread(lists[i], block), spread(lists[i + 1], block), weights, sums);
    postings += count(lists[i], block) + count(lists[i + 1], block);
  }
  if (i < n) {
    add_pair(spread(lists[i], block), _mm512_setzero_si512(), _mm512_set1_epi32(lists[i].weight), sums);
    postings += count(lists[i], block);
  }
  // Transposes quarters of registers.
  const __m512i a = _mm512_shuffle_i32x4(sums[0], sums[1], 0x44), b = _mm512_shuffle_i32x4(sums[2], sums[3], 0x44);
  const __m512i c = _mm512_shuffle_i32x4(sums[0], sums[1], 0xee), d = _mm512_shuffle_i32x4(sums[2], sums[3], 0xee);
  const __m512i of_documents[] = {_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd),
                                  _mm512_shuffle_i32x4(c, d, 0x88), _mm512_shuffle_i32x4(c, d, 0xdd)};
  for (unsigned part = 0; part < 4; ++part)
    totals[part] = _mm512_add_ps(totals[part], _mm512_cvtepi32_ps(of_documents[part]));
  return postings;
}

QUERN_AVX512 void load_sums(const float* sums, __m512* totals) {
  for (unsigned part = 0; part < 4; ++part) totals[part] = _mm512_loadu_ps(sums + 16 * part);
}

QUERN_AVX512 std::size_t add_bitmaps(const BitmapWindow* lists, std::size_t n, unsigned block, float* sums) {
  __m512 totals[4];
  load_sums(sums, totals);
  const std::size_t postings = sum_up(lists, n, block, totals);
  for (unsigned part = 0; part < 4; ++part) _mm512_storeu_ps(sums + 16 * part, totals[part]);
  return postings;
}

/// One bit for each of 64 values above the limit.
QUERN_AVX512 std::uint64_t above(const __m512* values, float limit) {
  const __m512 limits = _mm512_set1_ps(limit);
  std::uint64_t above = 0;
  for (unsigned part = 0; part < 4; ++part)
    above |= std::uint64_t{_cvtmask16_u32(_mm512_cmp_ps_mask(values[part], limits, _CMP_GT_OQ))} << 16 * part;
  return above;
}

QUERN_AVX512 std::uint64_t blocks_above(const float* bounds, float min) {
  __m512 values[4];
  load_sums(bounds, values);
  return above(values, min);
}

QUERN_AVX512 std::size_t score_block(const BitmapWindow* lists, std::size_t n, unsigned block, const float* sums,
                                     docid_t begin, float min, ScoredArrays out, std::uint64_t* postings) {
  __m512 totals[4];
  load_sums(sums, totals);
  *postings += sum_up(lists, n, block, totals);
  const std::uint64_t found = above(totals, min);
  if (found == 0) return 0;
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  std::size_t taken = 0;
  for (unsigned part = 0; part < 4; ++part) {
    const auto mask = static_cast<__mmask16>(found >> 16 * part);
    const __m512i docids = _mm512_add_epi32(lanes, _mm512_set1_epi32(static_cast<int>(begin + 16 * part)));
    _mm512_storeu_si512(out.docids + taken, _mm512_maskz_compress_epi32(mask, docids));
    _mm512_storeu_ps(out.scores + taken, _mm512_maskz_compress_ps(mask, totals[part]));
    taken += static_cast<std::size_t>(_mm_popcnt_u32(mask));
  }
  return taken;
}

QUERN_AVX512 void add_impacts(const docid_t* docids, const std::uint8_t* impacts, std::size_t n, float weight,
                              docid_t begin, float* sums) {
  const __m512 weights = _mm512_set1_ps(weight);
  alignas(64) std::array<float, 16> terms;
  const auto put_terms = [&](__m128i bytes) QUERN_AVX512 {
    _mm512_store_ps(terms.data(), _mm512_mul_ps(weights, _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes))));
  };
  std::size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    put_terms(_mm_loadu_si128(reinterpret_cast<const __m128i*>(impacts + i)));
    query_loops::add(docids + i, terms.data(), 16, begin, sums);
  }
  put_terms(_mm_maskz_loadu_epi8(first_lanes(n - i), impacts + i));
  query_loops::add(docids + i, terms.data(), n - i, begin, sums);
}

}  // namespace

const QueryKernels avx512_query_kernels = {
    find,        term_scores, query_loops::add,          add_impacts,  take_above, keep_above,
    count_up_to, add_bitmaps, query_loops::add_greatest, blocks_above, score_block};

}  // namespace quern

#endif
