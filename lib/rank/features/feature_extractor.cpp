#include "quern/rank/features/feature_extractor.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "quern/rank/features/feature_families.hpp"
#include "quern/rank/features/feature_list.hpp"

namespace quern {
void FeatureMatrix::resize(std::size_t features, std::size_t documents) {
  constexpr std::size_t group = FeatureColumns::documents_per_group;
  documents_ = documents;
  stride_ = (documents + group - 1) / group * group;
  values_.assign(features * stride_, 0.0f);
}

namespace {

/// Over the documents of all shards.
AverageLengths average_lengths_of(std::span<const FeatureShard> shards) {
  AverageLengths lengths;
  for (std::size_t stream = 0; stream < num_document_streams; ++stream) {
    std::uint64_t tokens = 0, documents = 0;
    for (const FeatureShard& shard : shards) {
      tokens += shard.forward.manifest().counts.tokens[stream];
      documents += shard.forward.manifest().documents;
    }
    lengths[stream] = tokens == 0 ? 1.0 : static_cast<double>(tokens) / static_cast<double>(documents);
  }
  return lengths;
}

}  // namespace

std::vector<ForwardReader> open_forwards(const IndexShards& shards) {
  std::vector<ForwardReader> forwards;
  for (const IndexReader& shard : shards) forwards.push_back(ForwardReader::open(shard));
  return forwards;
}

std::vector<FeatureShard> feature_shards(const IndexShards& shards, std::span<const ForwardReader> forwards) {
  std::vector<FeatureShard> pairs;
  for (std::size_t i = 0; i < shards.size(); ++i) pairs.push_back({shards[i], forwards[i]});
  return pairs;
}

FeatureExtractor::FeatureExtractor(std::vector<FeatureShard> shards, std::span<const std::uint32_t> selection,
                                   const FeatureMemory& memory)
    : shards_(std::move(shards)),
      memory_(&memory),
      num_columns_(selection.size()),
      column_of_(all_features().size(), -1),
      average_lengths_(average_lengths_of(shards_)) {
  const IndexReader& first = shards_.front().index;
  if (const auto& shard = first.manifest().shard; shard && shard->count != shards_.size())
    throw InvalidArgument(
        "{}: shard {} of {} alone can't compute features, which depend on all shards; pass all shards, or "
        "merge them with quern merge",
        first.name(), shard->number, shard->count);
  for (std::size_t i = 1; i < shards_.size(); ++i) {
    shards_[i].first_docid = shards_[i - 1].first_docid + shards_[i - 1].index.num_documents();
    shards_[i].first_byte = shards_[i - 1].first_byte + shards_[i - 1].forward.section_bytes();
  }
  for (std::size_t column = 0; column < selection.size(); ++column)
    column_of_.at(selection[column]) = static_cast<std::int32_t>(column);
  for_each_family([&](auto family, const FamilyPlace& place) {
    const auto begin = column_of_.begin() + static_cast<std::ptrdiff_t>(place.first_feature);
    family_is_used_.push_back(std::any_of(begin, begin + std::size(decltype(family)::features),
                                          [](std::int32_t column) { return column >= 0; }));
  });
}

const FeatureShard& FeatureExtractor::shard_of(docid_t docid) const {
  const auto after = std::upper_bound(shards_.begin() + 1, shards_.end(), docid,
                                      [](docid_t wanted, const auto& shard) { return wanted < shard.first_docid; });
  const FeatureShard& shard = *(after - 1);
  if (docid - shard.first_docid >= shard.forward.num_documents())
    throw InvalidArgument("{}: docID {} does not exist", shard.forward.name(), docid);
  return shard;
}

std::vector<FeatureQuery> FeatureExtractor::queries_of(std::string_view text, Analyzer& analyzer) const {
  std::vector<const IndexReader*> indexes;
  for (const FeatureShard& shard : shards_) indexes.push_back(&shard.index);
  return make_feature_queries(indexes, analyzer, text, *memory_);
}

DocumentView FeatureExtractor::view_of(std::span<const FeatureQuery> queries, const FeatureCandidate& candidate,
                                       Space& space, QueryMemory::Claim& claim) const {
  const FeatureShard& shard = shard_of(candidate.docid);
  const FeatureQuery& query = queries[static_cast<std::size_t>(&shard - shards_.data())];
  const docid_t docid = candidate.docid - shard.first_docid;
  space.hits.read(shard.forward, docid, query, *memory_, claim);
  space.scratch.resize(query.terms.size());
  DocumentView view;
  for (std::size_t s = 0; s < num_document_streams; ++s) {
    const DocumentHits::StreamHits& hits = space.hits.streams()[s];
    StreamView& stream = view.streams[s];
    stream.query = query.view();
    stream.average_length = average_lengths_[s];
    stream.k1 = shard.index.manifest().bm25.k1;
    stream.b = shard.index.manifest().bm25.b;
    stream.length = hits.length;
    stream.phrases = hits.phrases;
    stream.hits = hits.hits.data();
    stream.num_hits = static_cast<std::uint32_t>(hits.hits.size());
    stream.tf = hits.tf.data();
    stream.scratch = space.scratch.data();
  }
  view.first_stage_score = candidate.first_stage_score;
  if (!shard.index.pagerank().empty()) view.pagerank = shard.index.pagerank()[docid];
  const StaticNumbers& numbers = space.hits.numbers();
  view.url_bytes = static_cast<double>(numbers.url_bytes);
  view.url_depth = static_cast<double>(numbers.url_depth);
  view.links = static_cast<double>(numbers.links);
  view.out_links = numbers.out_links;
  view.in_links = numbers.in_links;
  return view;
}

void FeatureExtractor::publish(const DocumentView& document, std::size_t row, FeatureMatrix& matrix) const {
  std::size_t number = 0;
  for_each_family([&](auto family, const FamilyPlace& place) {
    if (!family_is_used_[number++]) return;
    double values[max_family_values];
    publish_family<decltype(family)>(document, place.stream, values);
    for (std::size_t i = 0; i < std::size(decltype(family)::features); ++i)
      if (const std::int32_t column = column_of_[place.first_feature + i]; column >= 0)
        matrix.column(static_cast<std::size_t>(column))[row] = static_cast<float>(values[i]);
  });
}

void FeatureExtractor::extract(std::span<const FeatureQuery> queries, std::span<const FeatureCandidate> candidates,
                               std::size_t from, FeatureMatrix& matrix, Space& space) const {
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    QueryMemory::Claim claim(memory_->hits());
    publish(view_of(queries, candidates[i], space, claim), from + i, matrix);
    space.hits.release_beyond(claim.is_alone() ? 0 : memory_->kept_bytes());
  }
}

void FeatureExtractor::extract_all(std::span<const FeatureQuery> queries, std::span<const FeatureCandidate> candidates,
                                   FeatureMatrix& matrix) const {
  constexpr std::size_t group = FeatureColumns::documents_per_group;
  matrix.resize(num_features(), candidates.size());
  tbb::enumerable_thread_specific<Space> spaces;
  tbb::parallel_for(std::size_t{0}, (candidates.size() + group - 1) / group, [&](std::size_t i) {
    const std::size_t from = i * group;
    extract(queries, candidates.subspan(from, std::min(group, candidates.size() - from)), from, matrix, spaces.local());
  });
}

}  // namespace quern
