#include "quern/features/document_hits.hpp"

#include <algorithm>
#include <bit>

#include "quern/codec/kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {
namespace {

/// Places that are compared at once: one bit of a mask each.
constexpr unsigned places_per_mask = 64;

/// Which of 64 ids are `wanted`.
std::uint64_t equal_mask(const std::uint32_t* ids, std::uint32_t wanted) {
  std::uint64_t mask = 0;
#if defined(__AVX2__)
  const __m256i value = _mm256_set1_epi32(static_cast<int>(wanted));
  for (unsigned i = 0; i < places_per_mask / 8; ++i) {
    const __m256i eight = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ids) + i);
    const int bits = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(eight, value)));
    mask |= std::uint64_t{static_cast<std::uint32_t>(bits)} << i * 8;
  }
#else
  for (unsigned i = 0; i < places_per_mask; ++i) mask |= std::uint64_t{ids[i] == wanted} << i;
#endif
  return mask;
}

constexpr std::uint64_t low_bits(unsigned count) {
  return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

/// Terms that all places are compared with one by one; of more, each place is looked up.
constexpr std::size_t most_compared = 16;

/// Ids that are decoded at once.
constexpr std::uint32_t places_per_unpack = 1024;
static_assert(places_per_unpack % places_per_mask == 0);

}  // namespace

void DocumentHits::read(const ForwardReader& forward, docid_t docid, const FeatureQuery& query) {
  for (StreamHits& stream : streams_) {
    stream.length = stream.phrases = 0;
    stream.in_phrase = false;
    stream.hits.clear();
    stream.tf.assign(query.terms.size(), 0);
  }
  numbers_ = forward.for_each_segment(docid, [&](const ForwardSegment& segment) {
    find_terms(segment, query);
    scan(segment);
  });
  for (StreamHits& stream : streams_) {
    stream.phrases += stream.in_phrase;
    for (const WordHit& hit : stream.hits) ++stream.tf[hit.word];
  }
}

void DocumentHits::find_terms(const ForwardSegment& segment, const FeatureQuery& query) {
  wanted_.clear();
  for (std::uint32_t word = 0; word < query.texts.size(); ++word) {
    const auto& number = query.numbers[word];
    if (!number && segment.num_literals() == 0) continue;
    const std::uint32_t id = number ? segment.id_of(*number) : segment.id_of(query.texts[word]);
    if (id != 0) wanted_.push_back({id, word});
  }
  word_of_.clear();
  if (wanted_.size() <= most_compared) return;
  word_of_.resize(std::size_t{segment.num_terms()} + segment.num_literals() + 1);
  for (const WantedTerm& wanted : wanted_) word_of_[wanted.id] = wanted.word + 1;
}

void DocumentHits::scan(const ForwardSegment& segment) {
  ids_.resize(places_per_unpack + places_per_mask + unpack_slack);
  std::uint32_t at = 0;
  for (std::size_t s = 0; s < num_document_streams; ++s) {
    for (const std::uint32_t end = at + segment.stream_places()[s]; at < end;) {
      const std::uint32_t places = std::min(end - at, places_per_unpack);
      segment.unpack(at, places, ids_.data());
      for (std::uint32_t done = 0; done < places; done += places_per_mask)
        scan_block(ids_.data() + done, std::min(places - done, places_per_mask), streams_[s]);
      at += places;
    }
  }
}

/// At most 64 places, of which ids beyond may be read.
void DocumentHits::scan_block(const std::uint32_t* ids, unsigned places, StreamHits& stream) {
  const std::uint64_t valid = low_bits(places);
  const std::uint64_t ends = equal_mask(ids, 0) & valid, tokens = valid & ~ends;
  // An end that follows a token ends a phrase; one that follows another end, or begins the stream, does not.
  const std::uint64_t phrase_ends = ends & (tokens << 1 | std::uint64_t{stream.in_phrase});
  const auto add_hits = [&](std::uint64_t found, std::uint32_t word) {
    for (; found != 0; found &= found - 1) {
      const std::uint64_t before = low_bits(static_cast<unsigned>(std::countr_zero(found)));
      stream.hits.push_back({word, stream.length + static_cast<std::uint32_t>(std::popcount(tokens & before)),
                             stream.phrases + static_cast<std::uint32_t>(std::popcount(phrase_ends & before))});
    }
  };
  const std::size_t first_new = stream.hits.size();
  if (word_of_.empty()) {
    for (const WantedTerm& wanted : wanted_) add_hits(equal_mask(ids, wanted.id) & valid, wanted.word);
  } else {
    for (std::uint64_t left = tokens; left != 0; left &= left - 1) {
      const std::uint32_t id = ids[std::countr_zero(left)];
      if (id < word_of_.size() && word_of_[id] != 0) add_hits(left & (~left + 1), word_of_[id] - 1);
    }
  }
  std::sort(stream.hits.begin() + static_cast<std::ptrdiff_t>(first_new), stream.hits.end(),
            [](const WordHit& a, const WordHit& b) { return a.offset < b.offset; });
  stream.length += static_cast<std::uint32_t>(std::popcount(tokens));
  stream.phrases += static_cast<std::uint32_t>(std::popcount(phrase_ends));
  stream.in_phrase = (tokens >> (places - 1) & 1) != 0;
}

}  // namespace quern
