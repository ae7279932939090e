#include "quern/api/second_stage.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <utility>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/core/error.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/features/feature_extractor.hpp"
#include "quern/features/feature_list.hpp"
#include "quern/features/feature_query.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/rerank/feature_binding.hpp"
#include "quern/rerank/reranker.hpp"

namespace quern::api {

std::vector<FeatureInfo> features(std::string_view selection) {
  return with_api_errors([&] {
    std::vector<FeatureInfo> out;
    for (const std::uint32_t number : select_features(selection)) {
      const Feature& feature = all_features()[number];
      out.push_back({feature.name, std::string(quern::name_of(feature.kind)), feature.formula});
    }
    return out;
  });
}

struct Features::Impl {
  Impl(const Index& of, std::string_view selection)
      : index(of),
        forward(ForwardReader::open(index.impl()->reader)),
        extractor(index.impl()->reader, forward, select_features(selection)) {}

  const Index index;
  ForwardReader forward;
  FeatureExtractor extractor;
};

Features::Features(const Index& index, std::string_view selection)
    : impl_(with_api_errors([&] { return std::make_unique<Impl>(index, selection); })) {}
Features::Features(Features&&) noexcept = default;
Features& Features::operator=(Features&&) noexcept = default;
Features::~Features() = default;

FeatureTable Features::compute(std::string_view text, std::span<const Hit> documents) const {
  return with_api_errors([&] {
    const FeatureExtractor& extractor = impl_->extractor;
    const auto analyzer = impl_->index.impl()->analyzers.borrow();
    std::vector<FeatureCandidate> candidates;
    candidates.reserve(documents.size());
    for (const Hit& document : documents) candidates.push_back({document.docid, document.score});
    FeatureMatrix matrix;
    extractor.extract_all(make_feature_query(extractor.index(), *analyzer, text), candidates, matrix);
    FeatureTable table{documents.size(), extractor.num_features(), {}};
    table.values.reserve(table.rows * table.columns);
    for (std::size_t row = 0; row < table.rows; ++row)
      for (std::size_t column = 0; column < table.columns; ++column) table.values.push_back(matrix.at(column, row));
    return table;
  });
}

struct Reranker::Impl {
  Impl(const Index& of, const std::string& model, std::string_view selection)
      : index(of),
        forward(ForwardReader::open(index.impl()->reader)),
        reranker(index.impl()->reader, forward, bind_features(read_ranker(model), select_features(selection), model),
                 model),
        spaces([this] { return quern::Reranker::Space(index.impl()->reader); }) {}

  std::vector<ScoredDocument> rerank(std::string_view text, std::span<const Hit> documents, std::size_t k) const {
    std::vector<ScoredDocument> reranked;
    reranked.reserve(documents.size());
    for (const Hit& document : documents) {
      index.impl()->check(document.docid);
      reranked.push_back({document.docid, document.score});
    }
    reranker.rerank(text, reranked, k, spaces.local());
    return reranked;
  }

  const Index index;
  ForwardReader forward;
  quern::Reranker reranker;
  mutable tbb::enumerable_thread_specific<quern::Reranker::Space> spaces;
};

Reranker::Reranker(const Index& index, const std::string& model, std::string_view selection)
    : impl_(with_api_errors([&] { return std::make_unique<Impl>(index, model, selection); })) {}
Reranker::Reranker(Reranker&&) noexcept = default;
Reranker& Reranker::operator=(Reranker&&) noexcept = default;
Reranker::~Reranker() = default;

std::vector<Hit> Reranker::rerank(std::string_view text, std::span<const Hit> documents, std::size_t k) const {
  return with_api_errors([&] {
    std::vector<Hit> hits;
    for (const ScoredDocument& document : impl_->rerank(text, documents, k))
      hits.push_back({document.docid, document.score});
    return hits;
  });
}

BatchResults Reranker::rerank(std::span<const std::string_view> texts, const BatchResults& results, std::size_t k,
                              const Work& work) const {
  return with_api_errors([&] {
    if (results.offsets.size() != texts.size() + 1 || results.offsets.front() != 0 ||
        !std::is_sorted(results.offsets.begin(), results.offsets.end()) ||
        results.docids.size() != results.offsets.back() || results.scores.size() != results.offsets.back())
      throw InvalidArgument("the results are not those of these queries");
    const WorkResources resources(work, {});
    resources->progress->start("rerank", texts.size(), "queries");
    BatchResults out;
    out.offsets.push_back(0);
    using Documents = std::vector<ScoredDocument>;
    answer_in_batches<Documents>(
        texts.size(), resources->threads, default_held_bytes,
        [&](std::size_t query, Documents& documents) {
          std::vector<Hit> first;
          for (std::uint64_t i = results.offsets[query]; i < results.offsets[query + 1]; ++i)
            first.push_back({results.docids[i], results.scores[i]});
          documents = impl_->rerank(texts[query], first, k);
        },
        [](const Documents& documents) { return documents.capacity() * sizeof(ScoredDocument); },
        [&](std::size_t, const Documents& documents) {
          for (const ScoredDocument& document : documents) {
            out.docids.push_back(document.docid);
            out.scores.push_back(document.score);
          }
          out.offsets.push_back(out.docids.size());
          resources->progress->add(1);
        });
    out.statistics.queries = texts.size();
    return out;
  });
}

}  // namespace quern::api
