#include "quern/gpu/rank/features/feature_batch.hpp"

#include <cstring>

#include "quern/rank/features/feature_families.hpp"

namespace quern::gpu {
namespace {

/// Limit of a document: kernels count its hits in 32 bits, and a hit takes at least one bit.
constexpr std::uint64_t max_document_bytes = 0x1fffffff;
/// Bytes that looking up a document touches if the GPU holds it.
constexpr std::uint64_t lookup_bytes = 64;

}  // namespace

FeatureBatch::FeatureBatch(const FeatureExtractor& extractor, bool gathers, const FeatureBatchLimits& limits)
    : column_of(extractor.column_of().begin(), extractor.column_of().end()),
      num_columns(extractor.num_features()),
      extractor_(extractor),
      gathers_(gathers),
      limits_(limits) {
  for_each_family([&](auto family, const FamilyPlace& place) {
    const auto first = column_of.begin() + static_cast<std::ptrdiff_t>(place.first_feature);
    if (std::all_of(first, first + std::size(decltype(family)::features), [](std::int32_t at) { return at < 0; }))
      return;
    slots.push_back({static_cast<std::uint8_t>(place.family), static_cast<std::uint8_t>(place.stream),
                     static_cast<std::uint16_t>(place.first_feature)});
  });
}

void FeatureBatch::clear() {
  queries.clear();
  terms.clear();
  sought.clear();
  texts.clear();
  sequence.clear();
  first_follower.clear();
  followers.clear();
  documents.clear();
  words.clear();
  num_tf = 0;
  gathered_ = 0;
}

void FeatureBatch::add_query(const FeatureShard& shard) {
  shard_ = &shard;
  const FeatureQuery& query = begun_[static_cast<std::size_t>(shard_ - extractor_.shards().data())];
  queries.push_back({static_cast<std::uint32_t>(terms.size()), static_cast<std::uint32_t>(query.terms.size()),
                     static_cast<std::uint32_t>(sequence.size()), static_cast<std::uint32_t>(query.sequence.size()),
                     static_cast<std::uint32_t>(first_follower.size()), static_cast<std::uint32_t>(followers.size()),
                     static_cast<std::uint32_t>(shard.forward.manifest().index_terms)});
  terms.insert(terms.end(), query.terms.begin(), query.terms.end());
  sequence.insert(sequence.end(), query.sequence.begin(), query.sequence.end());
  first_follower.insert(first_follower.end(), query.first_follower.begin(), query.first_follower.end());
  followers.insert(followers.end(), query.followers.begin(), query.followers.end());
  for (std::size_t i = 0; i < query.terms.size(); ++i) {
    SoughtTerm& term = sought.emplace_back();
    if (query.numbers[i]) {
      term.number = *query.numbers[i];
      continue;
    }
    term.text = static_cast<std::uint32_t>(texts.size());
    term.text_bytes = static_cast<std::uint32_t>(query.texts[i].size());
    texts.insert(texts.end(), query.texts[i].begin(), query.texts[i].end());
  }
}

void FeatureBatch::add(const FeatureCandidate& candidate) {
  const FeatureShard& shard = extractor_.shard_of(candidate.docid);
  const ForwardReader& forward = shard.forward;
  const docid_t docid = candidate.docid - shard.first_docid;
  if (&shard != shard_) add_query(shard);
  const ForwardReader::Range range = forward.document_range(docid);
  if (range.to - range.from > max_document_bytes)
    throw GpuOutOfMemory("{}: docID {} is too large for a GPU", forward.name(), docid);
  extractor_.memory().note_read(gathers_ ? range.to - range.from : lookup_bytes);
  FeatureBatchDocument& document = documents.emplace_back();
  document.begin = gathers_ ? gather(forward, range) : shard.first_byte + range.from;
  document.bytes = static_cast<std::uint32_t>(range.to - range.from);
  document.query = static_cast<std::uint32_t>(queries.size() - 1);
  document.first_tf = num_tf;
  num_tf += static_cast<std::uint32_t>(num_document_streams) * queries.back().num_terms;
  document.out_links = forward.out_links(docid);
  document.in_links = forward.in_links(docid);
  const std::span<const float> pagerank = shard.index.pagerank();
  document.pagerank = pagerank.empty() ? 0.0f : pagerank[docid];
  document.first_stage_score = candidate.first_stage_score;
}

/// Appends bytes of a forward file, and returns where they begin.
std::uint64_t FeatureBatch::gather(const ForwardReader& forward, ForwardReader::Range range) {
  const ByteView bytes = forward.section_part(range);
  const std::uint64_t begin = gathered_;
  gathered_ += bytes.size();
  // Kernels read two words at a time.
  words.resize(static_cast<std::size_t>(gathered_ / sizeof(std::uint32_t) + 3));
  std::memcpy(reinterpret_cast<std::uint8_t*>(words.data()) + begin, bytes.data(), bytes.size());
  return begin;
}

FeatureBatchView FeatureBatch::view() const {
  FeatureBatchView view;
  std::copy(extractor_.average_lengths().begin(), extractor_.average_lengths().end(), view.average_lengths);
  const Bm25Parameters& bm25 = extractor_.shards().front().index.manifest().bm25;
  view.k1 = bm25.k1;
  view.b = bm25.b;
  view.num_documents = static_cast<std::uint32_t>(documents.size());
  constexpr std::uint32_t group = FeatureColumns::documents_per_group;
  view.stride = (view.num_documents + group - 1) / group * group;
  view.num_slots = static_cast<std::uint32_t>(slots.size());
  return view;
}

}  // namespace quern::gpu
