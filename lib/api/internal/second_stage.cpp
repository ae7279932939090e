#include "quern/api/internal/second_stage.hpp"

#include <tbb/parallel_for.h>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/processors.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/rankers/model_format.hpp"
#include "quern/formats/tables/document_tables.hpp"
#include "quern/formats/tables/text_lines.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/rank/features/feature_extractor.hpp"
#include "quern/rank/features/feature_list.hpp"

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
        forwards(open_forwards(index.impl()->shards)),
        extractor(feature_shards(index.impl()->shards, forwards), select_features(selection)) {}

  const Index index;
  std::vector<ForwardReader> forwards;
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

namespace {

/// Limit of models for one run: all of them stay in memory.
constexpr std::size_t max_models = 1000;

/// The models of the options, the default one first; fills the numbers of those of topics (topic_rankers.md).
std::vector<quern::Reranker::NamedModel> read_models(const RankerOptions& options,
                                                     std::map<std::string, std::uint32_t>& by_topic) {
  std::vector<std::string> paths = {options.model};
  if (!options.by_topic.empty()) {
    const std::unique_ptr<ByteSource> source = ByteSource::open(options.by_topic);
    read_pairs(*source, "topic<TAB>model", [&](std::string_view qid, std::string_view path, std::uint64_t line) {
      const auto known = std::ranges::find(paths, path);
      if (!by_topic.emplace(qid, known - paths.begin()).second)
        fail_at_line(source->name(), line, fmt::format("topic {} has a model already; remove one of them", qid));
      if (known == paths.end()) paths.emplace_back(path);
      if (paths.size() > max_models)
        fail_at_line(source->name(), line, fmt::format("names more than {} models", max_models));
    });
  }
  std::vector<quern::Reranker::NamedModel> models;
  for (const std::string& path : paths)
    models.push_back(
        {bind_features(read_ranker(path), select_features(options.features), path, options.features_from), path});
  return models;
}

}  // namespace

SecondStage::SecondStage(const RankerOptions& ranker, const IndexShards& shards)
    : options_(ranker),
      forwards_(open_forwards(shards)),
      reranker_(feature_shards(shards, forwards_), read_models(ranker, by_topic_), memory_),
      spaces_([this] { return quern::Reranker::Space(reranker_); }) {}

void SecondStage::use_gpu(QueryDevice device, gpu::GpuRerankOptions options, Progress& progress) {
  options.ranker_bytes = options_.ranker_bytes;
  options.fewest_documents = options_.fewest_documents;
  options.fast_math = options_.fast_math;
  on_gpu_ = gpu::make_gpu_reranker(reranker_, device, std::move(options), progress);
}

void SecondStage::reserve_gpu_memory(unsigned gpu, gpu::GpuMemoryOptions& options) const {
  if (on_gpu_ == nullptr) return;
  if (options.bytes)
    *options.bytes -= *options.bytes / gpu_memory_divisor;
  else if (options.share)
    *options.share -= *options.share / gpu_memory_divisor;
  else
    options.reserved = {gpu, on_gpu_->bytes_left()};
}

double SecondStage::rerank(std::string_view query, std::vector<ScoredDocument>& documents, std::size_t k) const {
  const auto begun = WallClock::now();
  if (on_gpu_ != nullptr) {
    const gpu::RerankJob job = {query, &documents};
    on_gpu_->rerank({&job, 1}, k, spaces_.local());
  } else {
    reranker_.rerank(query, documents, k, spaces_.local());
  }
  return us_since(begun);
}

RerankReport SecondStage::rerank(std::span<TopicResults> topics, std::size_t k, const Resources& resources) const {
  return on_gpu_ != nullptr ? gpu::rerank_topics(*on_gpu_, topics, k, resources)
                            : rerank_topics(reranker_, topics, k, resources);
}

ManifestJson figures_of(const gpu::GpuRerankCounts& counts) {
  return {{"documents_on_gpu", counts.documents_on_gpu},
          {"documents_on_cpu", counts.documents_on_cpu},
          {"batches", counts.batches},
          {"without_room", counts.without_room},
          {"models_loaded", counts.models.loads},
          {"models_evicted", counts.models.evictions}};
}

namespace {

/// Settings of a caller's GPU, where copies may pin `pinned_bytes`.
gpu::GpuRerankOptions gpu_rerank_options(const Placement& placement, std::optional<std::uint64_t> pinned_bytes,
                                         unsigned threads) {
  gpu::GpuRerankOptions options;
  options.gpu = placement.gpu;
  options.memory_bytes = placement.gpu_memory_bytes;
  options.pinned_bytes = pinned_bytes;
  options.threads = threads;
  options.notice = spelled(placement.notice);
  return options;
}

}  // namespace

struct Reranker::Impl {
  Impl(const Index& searched, const RankerOptions& ranker, const Placement& placement, const Work& work)
      : index(searched), stage(ranker, index.impl()->shards) {
    const WorkResources resources(work, {});
    std::optional<std::uint64_t> pinned_bytes;
    if (work.memory_bytes != 0) pinned_bytes = work.memory_bytes / 2;
    stage.use_gpu(query_device(placement.device), gpu_rerank_options(placement, pinned_bytes, resources->threads),
                  *resources->progress);
  }

  const Index index;
  SecondStage stage;
};

Reranker::Reranker(const Index& index, const RankerOptions& ranker, const Placement& placement, const Work& work)
    : impl_(with_api_errors([&] { return std::make_shared<Impl>(index, ranker, placement, work); })) {}

std::vector<Hit> Reranker::rerank(std::string_view text, std::span<const Hit> documents, std::size_t k) const {
  return with_api_errors([&] {
    std::vector<ScoredDocument> reranked;
    reranked.reserve(documents.size());
    for (const Hit& document : documents) {
      impl_->index.impl()->place(document.docid);
      reranked.push_back({document.docid, document.score});
    }
    impl_->stage.rerank(text, reranked, k);
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
        impl_->index.impl()->place(results.docids[i]);
        topics[query].documents.push_back({results.docids[i], results.scores[i]});
      }
    }
    const WorkResources resources(work, {});
    resources->progress->start("rerank", texts.size(), "queries");
    impl_->stage.rerank(topics, k, *resources);
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

namespace {

/// How the memory of work on a run is divided: mapped pages, where terms are in documents, topics or lines in flight;
/// the rest is for RunTopics.
struct SecondStageMemory {
  SecondStageMemory(const IndexShards& shards, std::span<const ForwardReader> forwards, const Resources& resources)
      : pages(shards, forwards, resources.memory_bytes / 4),
        feature_bytes(resources.memory_bytes / 8 * 3),
        in_flight_bytes(resources.memory_bytes / 8) {}

  IndexPages pages;
  std::uint64_t feature_bytes, in_flight_bytes;
};

/// The topics and the lines of the run, and judgements if there are any, joined; `topics` gets the number of the run's
/// topics. The shards and the pages must stay.
RunTopics read_run_topics(const FirstStage& first_stage, const IndexShards& shards, IndexPages& pages,
                          const Resources& resources, std::uint64_t& topics) {
  RunTopics run(shards, pages,
                {first_stage.topics_name, source_name(first_stage.run),
                 first_stage.qrels.empty() ? "" : source_name(first_stage.qrels)},
                resources);
  first_stage.topics([&](std::string_view id, std::string_view text) { run.add_topic(id, text); });
  if (!first_stage.qrels.empty())
    read_qrels(*ByteSource::open(first_stage.qrels, resources),
               [&](const JudgementLine& line, std::uint64_t number) { run.add_judgement(line, number); });
  read_run(*ByteSource::open(first_stage.run, resources),
           [&](const RunLineText& line, std::uint64_t number) { run.add_line(line, number); });
  topics = run.join();
  return run;
}

/// Computes the features of topics and writes their lines, as many documents at a time as fit in the memory.
class FeaturesRun {
 public:
  FeaturesRun(const IndexShards& shards, const FeatureExtractor& extractor, std::vector<std::string> names, bool json,
              const SecondStageMemory& memory, const TakeText& write)
      : json_(json),
        shards_(shards),
        extractor_(extractor),
        names_(std::move(names)),
        memory_(memory),
        write_(write),
        analyzer_(extractor.make_analyzer()) {
    for (const std::string& name : names_) bytes_per_document_ += bytes_per_feature + (json_ ? name.size() : 0);
  }

  void write(const TopicResults& topic) {
    const std::vector<FeatureQuery> queries = extractor_.queries_of(topic.text, analyzer_);
    const std::size_t at_once = documents_at_once(topic.qid.size());
    for (std::size_t from = 0; from < topic.documents.size(); from += at_once)
      write(topic, queries, from, std::min(from + at_once, topic.documents.size()));
  }

 private:
  /// A float32 in the matrix, and in a line a text of a dozen bytes with its number, in a buffer that doubles.
  static constexpr std::uint64_t bytes_per_feature = 64;

  std::size_t documents_at_once(std::size_t qid_bytes) const {
    constexpr std::uint64_t least = FeatureColumns::documents_per_group, most = 4096;
    return std::clamp(memory_.in_flight_bytes / 2 / (bytes_per_document_ + 2 * qid_bytes), least, most);
  }

  void write(const TopicResults& topic, std::span<const FeatureQuery> queries, std::size_t from, std::size_t end) {
    candidates_.clear();
    for (std::size_t i = from; i < end; ++i)
      candidates_.push_back({topic.documents[i].docid, topic.documents[i].score});
    extractor_.extract_all(queries, candidates_, matrix_);
    std::vector<std::string> lines(candidates_.size());
    tbb::parallel_for(std::size_t{0}, candidates_.size(), [&](std::size_t row) {
      const std::string_view docno = shards_.docno(candidates_[row].docid);
      const std::int32_t label = topic.relevances.empty() ? 0 : topic.relevances[from + row];
      const LetorRow letor{label, topic.qid, docno, matrix_.columns(), row};
      lines[row] = json_ ? letor_json(letor, names_) : letor_line(letor, names_.size());
    });
    for (const std::string& line : lines) write_(line);
  }

  bool json_;
  const IndexShards& shards_;
  const FeatureExtractor& extractor_;
  std::vector<std::string> names_;
  const SecondStageMemory& memory_;
  const TakeText& write_;
  Analyzer analyzer_;
  std::uint64_t bytes_per_document_ = 256;  ///< of its row and its line
  std::vector<FeatureCandidate> candidates_;
  FeatureMatrix matrix_;
};

/// Reranks topics, as many at a time as fit in the memory, and writes them in their order.
class RerankRun {
 public:
  RerankRun(const SecondStage& stage, std::size_t k, std::string_view tag, const IndexShards& shards,
            SecondStageMemory& memory, const Resources& resources, const TakeText& write)
      : stage_(stage), k_(k), tag_(tag), shards_(shards), memory_(memory), resources_(resources), write_(write) {}

  void add(TopicResults topic) {
    const std::uint64_t bytes = topic.bytes();
    if (bytes_ + bytes > memory_.in_flight_bytes) finish();
    bytes_ += bytes;
    topics_.push_back(std::move(topic));
  }

  /// Reranks and writes the topics that were added and are not written yet.
  void finish() {
    const RerankReport figures = stage_.rerank(topics_, k_, resources_);
    figures_.documents += figures.documents;
    figures_.seconds += figures.seconds;
    for (const TopicResults& topic : topics_) write(topic);
    topics_.clear();
    bytes_ = 0;
  }

  const RerankReport& figures() const { return figures_; }

 private:
  /// Writes lines of a TREC run, some at a time.
  void write(const TopicResults& topic) {
    constexpr std::size_t at_once = 1024;
    const std::span<const ScoredDocument> documents(topic.documents);
    for (std::size_t from = 0; from < documents.size(); from += at_once) {
      std::vector<RunResult> results;
      for (const ScoredDocument& document : documents.subspan(from, std::min(at_once, documents.size() - from)))
        results.push_back({shards_.docno(document.docid), document.score, {}, {}});
      std::string text;
      run_format_named("trec").append_piece(
          text, topic.qid, topic.text, {results, from + 1, from == 0, from + results.size() == documents.size()}, tag_);
      write_(text);
      memory_.pages.note_bytes(text.size());
    }
  }

  const SecondStage& stage_;
  const std::size_t k_;
  const std::string_view tag_;
  const IndexShards& shards_;
  SecondStageMemory& memory_;
  const Resources& resources_;
  const TakeText& write_;
  std::vector<TopicResults> topics_;
  std::uint64_t bytes_ = 0;  ///< of the topics
  RerankReport figures_;
};

}  // namespace

SecondStageReport write_features(const Index& index, const FirstStage& first_stage, std::string_view selection,
                                 bool json, const TakeText& write, const Work& work) {
  return with_api_errors([&] {
    const WorkResources resources(work, {});
    const IndexShards& shards = index.impl()->shards;
    const std::vector<std::uint32_t> selected = select_features(selection);
    const std::vector<ForwardReader> forwards = open_forwards(shards);
    SecondStageMemory memory(shards, forwards, resources);
    const FeatureMemory feature_memory(memory.feature_bytes, resources->threads, memory.pages);
    SecondStageReport report;
    RunTopics topics = read_run_topics(first_stage, shards, memory.pages, resources, report.topics);
    const FeatureExtractor extractor(feature_shards(shards, forwards), selected, feature_memory);
    std::vector<std::string> names;
    for (const std::uint32_t feature : selected) names.push_back(all_features()[feature].name);
    FeaturesRun run(shards, extractor, std::move(names), json, memory, write);
    resources->progress->start("compute features", report.topics, "topics");
    topics.for_each([&](const TopicResults& topic) {
      run.write(topic);
      report.documents += topic.documents.size();
      resources->progress->add(1);
    });
    resources->progress->finish();
    return report;
  });
}

SecondStageReport rerank_run(const Index& index, const FirstStage& first_stage, const RankerOptions& ranker,
                             std::size_t k, std::string_view tag, const Placement& placement, const TakeText& write,
                             const Work& work) {
  return with_api_errors([&] {
    const WorkResources resources(work, {});
    const IndexShards& shards = index.impl()->shards;
    SecondStage stage(ranker, shards);
    SecondStageMemory memory(shards, stage.forwards(), resources);
    stage.limit_memory(memory.feature_bytes, resources->threads, memory.pages);
    // Pinned memory is taken from the memory for topics in flight.
    const std::uint64_t pinned = memory.in_flight_bytes / 2;
    stage.use_gpu(query_device(placement.device), gpu_rerank_options(placement, pinned, resources->threads),
                  *resources->progress);
    if (stage.on_gpu() != nullptr) memory.in_flight_bytes -= pinned;
    SecondStageReport report;
    RunTopics topics = read_run_topics(first_stage, shards, memory.pages, resources, report.topics);
    resources->progress->start("rerank", report.topics, "topics");
    RerankRun run(stage, k, tag, shards, memory, resources, write);
    std::size_t topics_with_models = 0;
    topics.for_each([&](TopicResults topic) {
      if (const std::uint32_t* const model = stage.model_of(topic.qid)) {
        topic.model = *model;
        ++topics_with_models;
      }
      run.add(std::move(topic));
    });
    run.finish();
    if (topics_with_models < stage.topics_with_models() && placement.notice)
      placement.notice(fmt::format("{}: names {}, of which the run has {}", ranker.by_topic,
                                   count_text(stage.topics_with_models(), "topic"), topics_with_models));
    resources->progress->finish();
    report.documents = run.figures().documents;
    report.seconds = run.figures().seconds;
    ManifestJson figures = {
        {"topics", report.topics},
        {"documents", report.documents},
        {"seconds", report.seconds},
        {"documents_per_second", static_cast<double>(report.documents) / std::max(report.seconds, 1e-9)},
        {"threads", resources->threads}};
    if (stage.on_gpu() != nullptr) figures["rerank_on_gpu"] = figures_of(stage.on_gpu()->counts());
    report.figures = figures.dump(1);
    return report;
  });
}

}  // namespace quern::api
