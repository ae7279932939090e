#include "quern/rank/features/document_hits.hpp"

#include <immintrin.h>

#include <bit>
#include <numeric>
#include <unordered_map>

#include "quern/codec/kernels.hpp"
#include "quern/core/natural_log.hpp"
#include "quern/text/utf8.hpp"

#if defined(__AVX2__)
#endif
namespace quern {
namespace {

/// Places compared at once: one bit of a mask each.
constexpr unsigned places_per_mask = 64;

/// Mask of the 64 ids that equal `wanted`.
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

/// Up to this many terms, all places are compared with each term; with more, each place is looked up.
constexpr std::size_t max_compared = 16;

/// Ids decoded at once.
constexpr std::uint32_t places_per_unpack = 1024;
static_assert(places_per_unpack % places_per_mask == 0);

/// Bytes read of a document between checks of resident pages.
constexpr std::uint64_t bytes_per_note = std::uint64_t{1} << 20;

/// Adds a segment to the bytes read but not yet noted, and notes them if there are many. Returns the new sum.
std::uint64_t note_segment(const ForwardSegment& segment, std::uint64_t bytes, const FeatureMemory& memory) {
  bytes += segment.bytes();
  if (bytes < bytes_per_note) return bytes;
  memory.note_read(bytes);
  return 0;
}

/// The number of tokens and phrase ends of a document.
std::uint64_t places_of(const ForwardReader& forward, docid_t docid) {
  std::uint64_t places = 0;
  forward.for_each_segment(docid, [&](const ForwardSegment& segment) { places += segment.places(); });
  return places;
}

void claim_bytes(std::uint64_t bytes, const ForwardReader& forward, docid_t docid, const FeatureMemory& memory,
                 QueryMemory::Claim& claim) {
  if (bytes > memory.hits().max_alone())
    throw InvalidArgument(
        "{}: the positions of the query's terms need {} of memory, but only {} is allowed; raise {}, or shorten the "
        "query",
        forward.place(docid), size_text(bytes), size_text(memory.hits().max_alone()), option_name<"memory">);
  claim.raise_to(bytes);
}

}  // namespace

void DocumentHits::begin(const FeatureQuery& query) {
  for (StreamHits& stream : streams_) {
    stream.length = stream.phrases = 0;
    stream.in_phrase = false;
    stream.hits.clear();
    stream.tf.assign(query.terms.size(), 0);
  }
}

void DocumentHits::end() {
  for (StreamHits& stream : streams_) {
    stream.phrases += stream.in_phrase;
    for (const WordHit& hit : stream.hits) ++stream.tf[hit.word];
  }
}

void DocumentHits::read(const ForwardReader& forward, docid_t docid, const FeatureQuery& query) {
  QueryMemory::Claim claim(unlimited_feature_memory.hits());
  read(forward, docid, query, unlimited_feature_memory, claim);
}

void DocumentHits::read(const ForwardReader& forward, docid_t docid, const FeatureQuery& query,
                        const FeatureMemory& memory, QueryMemory::Claim& claim) {
  begin(query);
  // Each token may be a hit, and a growing vector holds two copies of its contents, one of up to twice the size.
  const std::uint64_t max_bytes = places_of(forward, docid) * sizeof(WordHit) * 3;
  if (max_bytes > memory.unclaimed_bytes()) {
    const StreamCounts counts = count_hits(forward, docid, query, memory);
    const std::uint64_t hits = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    claim_bytes(hits * sizeof(WordHit), forward, docid, memory, claim);
    release_beyond(0);
    for (std::size_t s = 0; s < num_document_streams; ++s) streams_[s].hits.reserve(counts[s]);
  }
  std::uint64_t bytes = 0;
  numbers_ = forward.for_each_segment(docid, [&](const ForwardSegment& segment) {
    find_terms(segment, query);
    scan(segment);
    bytes = note_segment(segment, bytes, memory);
  });
  memory.note_read(bytes);
  end();
}

void DocumentHits::release_beyond(std::uint64_t bytes) {
  std::uint64_t taken = 0;
  for (const StreamHits& stream : streams_) taken += stream.hits.capacity() * sizeof(WordHit);
  if (taken <= bytes) return;
  for (StreamHits& stream : streams_) std::vector<WordHit>().swap(stream.hits);
}

DocumentHits::StreamCounts DocumentHits::count_hits(const ForwardReader& forward, docid_t docid,
                                                    const FeatureQuery& query, const FeatureMemory& memory) {
  StreamCounts counts{};
  std::uint64_t bytes = 0;
  forward.for_each_segment(docid, [&](const ForwardSegment& segment) {
    find_terms(segment, query);
    for_each_block(segment, [&](const std::uint32_t* ids, unsigned places, std::size_t s) {
      const std::uint64_t valid = low_bits(places);
      find_in_block(ids, valid & ~equal_mask(ids, 0), [&](std::uint64_t found, std::uint32_t) {
        counts[s] += static_cast<unsigned>(std::popcount(found));
      });
    });
    bytes = note_segment(segment, bytes, memory);
  });
  return counts;
}

void DocumentHits::find_terms(const ForwardSegment& segment, const FeatureQuery& query) {
  wanted_.clear();
  ForwardSegment::NumberSearch search;
  for (const std::uint32_t word : query.listed)
    if (const std::uint32_t id = segment.id_of(*query.numbers[word], search); id != 0) wanted_.push_back({id, word});
  segment.find_literals(
      query.literals.size(), [&](std::size_t i) -> std::string_view { return query.texts[query.literals[i]]; },
      [&](std::size_t i, std::uint32_t id) {
        wanted_.push_back({id, query.literals[i]});
      });
  word_of_.clear();
  if (wanted_.size() <= max_compared) return;
  word_of_.resize(std::size_t{segment.num_terms()} + segment.num_literals() + 1);
  for (const WantedTerm& wanted : wanted_) word_of_[wanted.id] = wanted.word + 1;
}

/// Calls take(ids, places, stream) for up to 64 places at a time; ids past them may be read.
template <class TakeBlock>
void DocumentHits::for_each_block(const ForwardSegment& segment, TakeBlock&& take) {
  ids_.resize(places_per_unpack + places_per_mask + unpack_slack);
  std::uint32_t at = 0;
  for (std::size_t s = 0; s < num_document_streams; ++s) {
    for (const std::uint32_t end = at + segment.stream_places()[s]; at < end;) {
      const std::uint32_t places = std::min(end - at, places_per_unpack);
      segment.unpack(at, places, ids_.data());
      for (std::uint32_t done = 0; done < places; done += places_per_mask)
        take(ids_.data() + done, std::min(places - done, places_per_mask), s);
      at += places;
    }
  }
}

/// Calls found(mask, word) with the places of each of the query's terms among the `tokens` of a block.
template <class Found>
void DocumentHits::find_in_block(const std::uint32_t* ids, std::uint64_t tokens, Found&& found) const {
  if (word_of_.empty()) {
    for (const WantedTerm& wanted : wanted_) found(equal_mask(ids, wanted.id) & tokens, wanted.word);
    return;
  }
  for (std::uint64_t left = tokens; left != 0; left &= left - 1) {
    const std::uint32_t id = ids[std::countr_zero(left)];
    if (id < word_of_.size() && word_of_[id] != 0) found(left & (~left + 1), word_of_[id] - 1);
  }
}

void DocumentHits::scan(const ForwardSegment& segment) {
  for_each_block(segment, [this](const std::uint32_t* ids, unsigned places, std::size_t s) {
    scan_block(ids, places, streams_[s]);
  });
}

void DocumentHits::scan_block(const std::uint32_t* ids, unsigned places, StreamHits& stream) {
  const std::uint64_t valid = low_bits(places);
  const std::uint64_t ends = equal_mask(ids, 0) & valid, tokens = valid & ~ends;
  // An end marker after a token ends a phrase; one after another marker, or at the start of the stream, does not.
  const std::uint64_t phrase_ends = ends & (tokens << 1 | std::uint64_t{stream.in_phrase});
  const std::size_t first_new = stream.hits.size();
  find_in_block(ids, tokens, [&](std::uint64_t found, std::uint32_t word) {
    for (; found != 0; found &= found - 1) {
      const std::uint64_t before = low_bits(static_cast<unsigned>(std::countr_zero(found)));
      stream.hits.push_back({word, stream.length + static_cast<std::uint32_t>(std::popcount(tokens & before)),
                             stream.phrases + static_cast<std::uint32_t>(std::popcount(phrase_ends & before))});
    }
  });
  std::sort(stream.hits.begin() + static_cast<std::ptrdiff_t>(first_new), stream.hits.end(),
            [](const WordHit& a, const WordHit& b) { return a.offset < b.offset; });
  stream.length += static_cast<std::uint32_t>(std::popcount(tokens));
  stream.phrases += static_cast<std::uint32_t>(std::popcount(phrase_ends));
  stream.in_phrase = (tokens >> (places - 1) & 1) != 0;
}

namespace {

FeatureTerm feature_term(const CollectionStatistics& statistics, std::uint64_t df, std::uint64_t cf) {
  constexpr FeatureParameters parameters;
  FeatureTerm term;
  const double documents = static_cast<double>(statistics.documents), holders = static_cast<double>(df);
  term.idf = natural_log(1.0 + (documents - holders + 0.5) / (holders + 0.5));
  const double tokens = std::max(static_cast<double>(statistics.tokens), 1.0);
  term.collection_share = std::max(static_cast<double>(cf), 0.5) / tokens;
  term.log_dirichlet_absent = natural_log(parameters.mu * term.collection_share);
  term.log_jelinek_absent = natural_log(parameters.lambda * term.collection_share);
  return term;
}

}  // namespace

void FeatureQuery::prepare() {
  listed.clear();
  literals.clear();
  for (std::uint32_t place = 0; place < numbers.size(); ++place) (numbers[place] ? listed : literals).push_back(place);
  std::sort(listed.begin(), listed.end(),
            [this](std::uint32_t a, std::uint32_t b) { return *numbers[a] < *numbers[b]; });
  std::sort(literals.begin(), literals.end(), [this](std::uint32_t a, std::uint32_t b) { return texts[a] < texts[b]; });
  find_followers();
}

void FeatureQuery::find_followers() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::size_t i = 1; i < sequence.size(); ++i) pairs.emplace_back(sequence[i - 1], sequence[i]);
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  first_follower.assign(terms.size() + 1, 0);
  followers.clear();
  for (const auto& [before, after] : pairs) {
    ++first_follower[before + 1];
    followers.push_back(after);
  }
  std::partial_sum(first_follower.begin(), first_follower.end(), first_follower.begin());
}

std::vector<FeatureQuery> make_feature_queries(std::span<const IndexReader* const> shards, Analyzer& analyzer,
                                               std::string_view text, const FeatureMemory& memory) {
  // For a copy of the text, in which three bytes may replace one.
  QueryMemory::Claim claim(memory.hits());
  claim.raise_to(text.size() * 4);
  FeatureQuery query;
  std::vector<std::vector<std::optional<term_t>>> numbers(shards.size());
  std::unordered_map<std::string, std::uint32_t> places;
  std::string repaired;
  repair_utf8(text, repaired);
  const auto add = [&](std::string_view term) {
    if (query.sequence.size() == max_feature_terms) return;
    const auto [known, is_new] = places.emplace(term, static_cast<std::uint32_t>(places.size()));
    query.sequence.push_back(known->second);
    if (is_new) {
      std::uint64_t df = 0, cf = 0;
      for (std::size_t shard = 0; shard < shards.size(); ++shard) {
        const auto list = shards[shard]->find(term);
        numbers[shard].push_back(list ? std::optional<term_t>(list->number) : std::nullopt);
        if (list) df = list->whole_df, cf = list->whole_cf;
      }
      query.terms.push_back(feature_term(shards.front()->manifest().statistics, df, cf));
      query.texts.emplace_back(term);
    }
    query.terms[known->second].count += 1;
  };
  analyzer.analyze(repaired, add, [] {});
  std::vector<FeatureQuery> queries(shards.size(), query);
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    queries[shard].numbers = std::move(numbers[shard]);
    queries[shard].prepare();
  }
  return queries;
}

}  // namespace quern
