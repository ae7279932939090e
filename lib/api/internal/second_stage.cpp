#include "quern/api/second_stage.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <utility>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/query_settings.hpp"
#include "quern/api/internal/work_resources.hpp"
#include "quern/core/error.hpp"
#include "quern/formats/forward_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/gpu/rank/gpu_reranker.hpp"
#include "quern/rank/features/feature_extractor.hpp"
#include "quern/rank/features/feature_list.hpp"
#include "quern/rank/reranker.hpp"
#include "quern/rank/run_topics.hpp"

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
  Impl(const Index& searched, std::string_view selection)
      : index(searched),
        forward(ForwardReader::open(index.impl()->reader)),
        extractor({{index.impl()->reader, forward}}, select_features(selection)) {}

  const Index index;
  ForwardReader forward;
  FeatureExtractor extractor;
};

Features::Features(const Index& index, std::string_view selection)
    : impl_(with_api_errors([&] { return std::make_shared<Impl>(index, selection); })) {}

FeatureTable Features::compute(std::string_view text, std::span<const Hit> documents) const {
  return with_api_errors([&] {
    const FeatureExtractor& extractor = impl_->extractor;
    const auto analyzer = impl_->index.impl()->analyzers.borrow();
    std::vector<FeatureCandidate> candidates;
    candidates.reserve(documents.size());
    for (const Hit& document : documents) candidates.push_back({document.docid, document.score});
    FeatureMatrix matrix;
    extractor.extract_all(extractor.queries_of(text, *analyzer), candidates, matrix);
    FeatureTable table{documents.size(), extractor.num_features(), {}};
    table.values.reserve(table.rows * table.columns);
    for (std::size_t row = 0; row < table.rows; ++row)
      for (std::size_t column = 0; column < table.columns; ++column) table.values.push_back(matrix.at(column, row));
    return table;
  });
}

struct Reranker::Impl {
  Impl(const Index& searched, const std::string& model, std::string_view selection, const Placement& placement,
       const Work& work)
      : index(searched),
        forward(ForwardReader::open(index.impl()->reader)),
        reranker({{index.impl()->reader, forward}},
                 bind_features(read_ranker(model), select_features(selection), model), model),
        spaces([this] { return quern::Reranker::Space(reranker); }) {
    const WorkResources resources(work, {});
    gpu::GpuRerankOptions options;
    options.gpu = placement.gpu;
    if (placement.gpu_memory_bytes != 0) options.memory_bytes = placement.gpu_memory_bytes;
    if (work.memory_bytes != 0) options.pinned_bytes = work.memory_bytes / 2;
    options.threads = resources->threads;
    options.notice = spelled(placement.notice);
    on_gpu = gpu::make_gpu_reranker(reranker, query_device(placement.device), std::move(options), *resources->progress);
  }

  void rerank(std::string_view text, std::vector<ScoredDocument>& documents, std::size_t k) const {
    const gpu::RerankJob job = {text, &documents};
    if (on_gpu != nullptr)
      on_gpu->rerank({&job, 1}, k, spaces.local());
    else
      reranker.rerank(text, documents, k, spaces.local());
  }
  void rerank(std::span<TopicResults> topics, std::size_t k, const Resources& resources) const {
    if (on_gpu != nullptr)
      gpu::rerank_topics(*on_gpu, topics, k, resources);
    else
      rerank_topics(reranker, topics, k, resources);
  }

  const Index index;
  ForwardReader forward;
  quern::Reranker reranker;
  mutable tbb::enumerable_thread_specific<quern::Reranker::Space> spaces;
  std::unique_ptr<gpu::GpuReranker> on_gpu;  ///< null: the CPU reranks
};

Reranker::Reranker(const Index& index, const std::string& model, std::string_view selection, const Placement& placement,
                   const Work& work)
    : impl_(with_api_errors([&] { return std::make_shared<Impl>(index, model, selection, placement, work); })) {}

std::vector<Hit> Reranker::rerank(std::string_view text, std::span<const Hit> documents, std::size_t k) const {
  return with_api_errors([&] {
    std::vector<ScoredDocument> reranked;
    reranked.reserve(documents.size());
    for (const Hit& document : documents) {
      impl_->index.impl()->check(document.docid);
      reranked.push_back({document.docid, document.score});
    }
    impl_->rerank(text, reranked, k);
    return hits_of(reranked);
  });
}

BatchResults Reranker::rerank(std::span<const std::string_view> texts, const BatchResults& results, std::size_t k,
                              const Work& work) const {
  return with_api_errors([&] {
    if (results.offsets.size() != texts.size() + 1 || results.offsets.front() != 0 ||
        !std::is_sorted(results.offsets.begin(), results.offsets.end()) ||
        results.docids.size() != results.offsets.back() || results.scores.size() != results.offsets.back())
      throw InvalidArgument("the results do not belong to these queries");
    std::vector<TopicResults> topics(texts.size());
    for (std::size_t query = 0; query < texts.size(); ++query) {
      topics[query].text = texts[query];
      const std::uint64_t from = results.offsets[query], end = results.offsets[query + 1];
      for (std::uint64_t i = from; i < end; ++i) {
        impl_->index.impl()->check(results.docids[i]);
        topics[query].documents.push_back({results.docids[i], results.scores[i]});
      }
    }
    const WorkResources resources(work, {});
    resources->progress->start("rerank", texts.size(), "queries");
    impl_->rerank(topics, k, *resources);
    resources->progress->finish();
    BatchResults out;
    out.offsets.push_back(0);
    for (const TopicResults& topic : topics) {
      for (const ScoredDocument& document : topic.documents) {
        out.docids.push_back(document.docid);
        out.scores.push_back(document.score);
      }
      out.offsets.push_back(out.docids.size());
    }
    out.statistics.queries = texts.size();
    return out;
  });
}

}  // namespace quern::api
