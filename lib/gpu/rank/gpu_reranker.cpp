#include "quern/gpu/rank/gpu_reranker.hpp"

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/device/device_info.hpp"

namespace quern::gpu {
namespace {

/// With features, a GPU is faster than a core from this many documents on, for any model (tests/bench/reranking.md).
constexpr std::size_t fewest_with_features = 64;

/// The second stage's GPU memory, within the free memory without a margin.
std::uint64_t memory_of(const GpuRerankOptions& options) {
  const std::uint64_t free_bytes = free_gpu_memory(options.gpu);
  const std::uint64_t available = free_bytes - std::min<std::uint64_t>(free_bytes / 16, std::uint64_t{512} << 20);
  return std::min(options.memory_bytes.value_or(available), available) / options.memory_divisor;
}

/// A batch's documents are in host memory twice while it is copied, and arrays grow in steps.
FeatureBatchLimits limits_of(const GpuRerankOptions& options) {
  FeatureBatchLimits limits;
  limits.documents = options.batch_documents;
  if (options.pinned_bytes)
    limits.gathered_bytes = std::min(limits.gathered_bytes, *options.pinned_bytes / options.threads / 4);
  return limits;
}

std::uint64_t ranker_bytes_of(const GpuRerankOptions& options, std::uint64_t memory) {
  const std::uint64_t bytes = options.ranker_bytes.value_or(memory / 8);
  if (bytes >= memory)
    throw GpuOutOfMemory(
        "models are given {} of GPU memory, but the second stage has only {}; lower ranker-memory, or use {} cpu",
        size_text(bytes), size_text(memory), option_name<"device">);
  return bytes;
}

/// Documents per group of topics, unless a topic has more: less work would not fill a GPU.
constexpr std::size_t min_together = 1024, max_together = 8192;

using TopicGroup = std::span<TopicResults>;

/// Divides topics into groups large enough for a GPU, several per thread if possible.
std::vector<TopicGroup> groups_of(std::span<TopicResults> topics, std::uint64_t documents, unsigned threads) {
  const std::uint64_t wanted = std::clamp<std::uint64_t>(documents / (4 * threads), min_together, max_together);
  std::vector<TopicGroup> groups;
  for (std::size_t from = 0, end = 0; from < topics.size(); from = end) {
    for (std::uint64_t sum = 0; end < topics.size() && sum < wanted; ++end) sum += topics[end].documents.size();
    groups.push_back(topics.subspan(from, end - from));
  }
  return groups;
}

}  // namespace

GpuReranker::GpuReranker(const Reranker& on_cpu, const GpuRerankOptions& options, Progress& progress)
    : on_cpu_(on_cpu),
      options_(options),
      limits_(limits_of(options)),
      on_gpu_(memory_of(options)),
      pinned_(options.pinned_bytes.value_or(std::numeric_limits<std::uint64_t>::max())),
      ranker_bytes_(ranker_bytes_of(options, on_gpu_.limit())),
      rankers_(options.gpu, ranker_bytes_, options.fast_math),
      flights_([this] {
        return std::make_unique<RerankFlight>(options_.gpu, on_cpu_.extractor(), documents_.get(), limits_, on_gpu_,
                                              pinned_);
      }) {
  for (std::uint32_t model = 0; model < on_cpu.num_models(); ++model)
    fewest_documents_.push_back(
        options.fewest_documents.value_or(std::min(fewest_gpu_documents(on_cpu.model(model)), fewest_with_features)));
  on_gpu_.set_limit(on_gpu_.limit() - ranker_bytes_);
  if (!options.keeps_documents || DocumentWords::bytes_needed(on_cpu.extractor()) > on_gpu_.limit() / 2) return;
  try {
    documents_ = std::make_unique<DocumentWords>(on_cpu.extractor(), options.gpu, on_gpu_, pinned_, progress);
  } catch (const GpuOutOfMemory&) {
    // Others may have used the memory; batches then carry their documents.
  }
}

/// Scores the documents of some jobs, batch by batch.
class GpuReranker::Pass {
 public:
  Pass(const GpuReranker& owner, const DeviceRanker& ranker, std::size_t jobs)
      : owner_(owner), ranker_(ranker), flight_(owner.flights_.borrow()), scores_(jobs) {
    flight_->batch().clear();
  }

  /// False if a document is damaged.
  bool add(std::size_t job, std::span<const FeatureQuery> queries, std::span<const ScoredDocument> documents) {
    FeatureBatch& batch = flight_->batch();
    scores_[job].resize(documents.size());
    batch.begin_query(queries);
    ranges_.push_back({job, 0, 0});
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (batch.is_full()) {
        if (!finish()) return false;
        batch.begin_query(queries);
        ranges_.push_back({job, i, 0});
      }
      batch.add({documents[i].docid, documents[i].score});
      ++ranges_.back().count;
    }
    return true;
  }

  bool finish() {
    FeatureBatch& batch = flight_->batch();
    batch_scores_.resize(batch.documents.size());
    if (!batch_scores_.empty()) {
      if (!score_batch()) return false;
      ++owner_.batches_;
    }
    auto next = batch_scores_.begin();
    for (const JobRange& range : ranges_) {
      const auto end = next + static_cast<std::ptrdiff_t>(range.count);
      std::copy(next, end, scores_[range.job].begin() + static_cast<std::ptrdiff_t>(range.from));
      next = end;
    }
    ranges_.clear();
    batch.clear();
    return true;
  }

  /// The scores of a job's documents, after finish().
  std::span<const double> scores(std::size_t job) const { return scores_[job]; }

 private:
  bool score_batch() {
    try {
      return flight_->score(ranker_, batch_scores_);
    } catch (...) {
      // Free its memory, which others may need.
      delete flight_.release();
      throw;
    }
  }

  const GpuReranker& owner_;
  const DeviceRanker& ranker_;
  SparePool<RerankFlight>::Borrowed flight_;
  std::vector<JobRange> ranges_;  ///< of jobs in the batch
  std::vector<double> batch_scores_;
  std::vector<std::vector<double>> scores_;  ///< by job
};

void GpuReranker::rerank(std::span<const RerankJob> jobs, std::size_t k, Reranker::Space& space) const {
  std::vector<RerankJob> by_model(jobs.begin(), jobs.end());
  std::ranges::stable_sort(by_model, {}, &RerankJob::model);
  for (auto first = by_model.begin(); first != by_model.end();) {
    const auto end = std::ranges::upper_bound(first, by_model.end(), first->model, {}, &RerankJob::model);
    rerank_with_one({first, end}, k, space);
    first = end;
  }
}

/// Reranks jobs of one model.
void GpuReranker::rerank_with_one(std::span<const RerankJob> jobs, std::size_t k, Reranker::Space& space) const {
  std::size_t documents = 0;
  for (const RerankJob& job : jobs) documents += job.documents->size();
  if (documents >= fewest_documents_[jobs.front().model] && !failed_) {
    try {
      if (try_gpu(jobs, k, space)) return;
    } catch (const GpuOutOfMemory&) {
      without_room_ += documents;
    } catch (const CudaError& error) {
      if (!options_.cpu_goes_on) throw;
      if (!failed_.exchange(true))
        options_.notice(std::string("the CPU reranks the remaining results: ") + error.what());
    }
  }
  for (const RerankJob& job : jobs) rerank_on_cpu(job, k, space);
}

/// False, with all jobs unchanged, if the CPU must do them.
bool GpuReranker::try_gpu(std::span<const RerankJob> jobs, std::size_t k, Reranker::Space& space) const {
  const std::shared_ptr<const DeviceRanker> ranker = rankers_.find(on_cpu_.model(jobs.front().model));
  if (ranker == nullptr) throw GpuOutOfMemory("the model does not fit in the GPU's memory");
  Pass pass(*this, *ranker, jobs.size());
  std::vector<bool> is_taken(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::vector<FeatureQuery> queries = on_cpu_.extractor().queries_of(jobs[i].query, space.analyzer);
    is_taken[i] = FeatureBatch::takes(queries.front());
    // Shard by shard.
    if (queries.size() > 1) std::ranges::sort(*jobs[i].documents, {}, &ScoredDocument::docid);
    if (is_taken[i] && !pass.add(i, queries, *jobs[i].documents)) return false;
  }
  if (!pass.finish()) return false;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::vector<ScoredDocument>& documents = *jobs[i].documents;
    if (!is_taken[i]) {
      rerank_on_cpu(jobs[i], k, space);
      continue;
    }
    documents_on_gpu_ += documents.size();
    for (std::size_t d = 0; d < documents.size(); ++d)
      on_cpu_.set_score(documents[d], pass.scores(i)[d], jobs[i].model);
    Reranker::keep_best(documents, k);
  }
  return true;
}

RerankReport rerank_topics(const GpuReranker& reranker, std::span<TopicResults> topics, std::size_t k,
                           const Resources& resources) {
  // The CPU's version divides large topics among threads.
  if (reranker.has_failed()) return quern::rerank_topics(reranker.on_cpu(), topics, k, resources);
  return run_stage(resources, [&] {
    RerankReport figures;
    for (const TopicResults& topic : topics) figures.documents += topic.documents.size();
    const auto begun = WallClock::now();
    tbb::enumerable_thread_specific<Reranker::Space> spaces([&] { return Reranker::Space(reranker.on_cpu()); });
    const std::vector<TopicGroup> groups = groups_of(topics, figures.documents, resources.threads);
    tbb::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t i) {
      std::vector<RerankJob> jobs;
      for (TopicResults& topic : groups[i]) jobs.push_back({topic.text, &topic.documents, topic.model});
      reranker.rerank(jobs, k, spaces.local());
      resources.progress->add(groups[i].size());
    });
    figures.seconds = seconds_since(begun);
    return figures;
  });
}

}  // namespace quern::gpu
