#include "quern/lab/gpu/gpu_rerank_bench.hpp"

#include <deque>

#include "quern/gpu/device/device_info.hpp"
#include "quern/gpu/rank/models/device_ranker.hpp"
#include "quern/gpu/rank/models/ranker_cache.hpp"
#include "quern/lab/gpu/energy_meter.hpp"
#include "quern/lab/measuring.hpp"

namespace quern {
namespace {

/// A model on the GPU, or on the CPU if it does not fit, and the flight that all models use in turn.
class GpuSubject {
 public:
  GpuSubject(const RerankSubject& subject, gpu::RankerCache& cache, gpu::RankerFlight& flight)
      : subject_(subject), cache_(cache), flight_(flight), on_cpu_(make_ranker(*subject.model)) {
    load_.ranker = subject.name;
    load_.seconds = wall_seconds([&] {
      if (const auto loaded = cache_.find(*subject.model)) {
        load_.on_gpu = true;
        load_.bytes = loaded->bytes();
      }
    });
    if (!load_.on_gpu) load_.seconds = 0;
  }

  bool on_gpu() const { return load_.on_gpu; }
  const std::string& name() const { return load_.ranker; }
  const GpuRankerLoad& load() const { return load_; }
  gpu::RankerFlight& flight() const { return flight_; }

  /// Loads the model if it was evicted: models that don't fit together replace each other.
  std::shared_ptr<const gpu::DeviceRanker> hold() const {
    if (!load_.on_gpu) return nullptr;
    auto held = cache_.find(*subject_.model);
    if (held == nullptr) throw GpuOutOfMemory("the ranker " + load_.ranker + " no longer fits the GPU's memory");
    return held;
  }
  void score(const gpu::DeviceRanker* held, const FeatureColumns& features, std::span<double> scores) const {
    if (held == nullptr)
      on_cpu_->score(features, scores);
    else
      flight_.score(*held, features, scores);
  }

  /// Compares scores with plain evaluation, and those of the largest query with the CPU's fast evaluation.
  void compare(const FeatureColumns& features, const RerankBenchOptions& options, bool fast_math) {
    const auto held = hold();
    const auto found = [&](const FeatureColumns& columns, std::span<double> scores) {
      score(held.get(), columns, scores);
    };
    const auto fast = [&](const FeatureColumns& columns, std::span<double> scores) { on_cpu_->score(columns, scores); };
    const FeatureColumns largest =
        first_documents(features, *std::max_element(options.documents.begin(), options.documents.end()));
    if (fast_math) {
      load_.difference = largest_difference(largest, fast, found);
      return;
    }
    check_scores(subject_, features, options.documents_compared, found);
    check_scores(load_.ranker, largest, fast, found);
  }

 private:
  const RerankSubject& subject_;
  gpu::RankerCache& cache_;
  gpu::RankerFlight& flight_;
  std::unique_ptr<Ranker> on_cpu_;
  GpuRankerLoad load_;
};

class GpuRerankCase {
 public:
  GpuRerankCase(const GpuSubject& subject, const FeatureColumns& features, std::size_t documents)
      : subject_(subject), queries_(features, documents), scores_(documents) {
    figures_.ranker = subject.name();
    figures_.device = "gpu";
    figures_.on_gpu = subject.on_gpu();
    figures_.documents = documents;
    figures_.queries = queries_.count();
  }

  void measure() {
    const auto held = subject_.hold();
    if (seconds_.empty()) answer(held.get());  // warm-up: grows memory and loads kernels
    seconds_.push_back(per_query(wall_seconds([&] { answer(held.get()); })));
    if (held != nullptr) measure_stages(*held);
  }

  void measure_energy(const EnergyMeter& meter, double min_seconds) {
    const auto held = subject_.hold();
    const auto before = meter.joules(1);
    if (held == nullptr || !before) return;
    std::size_t repeats = 0;
    for (const auto begun = WallClock::now(); seconds_since(begun) < min_seconds; ++repeats) answer(held.get());
    if (const auto after = meter.joules(1))
      figures_.joules = per_query(*after - *before) / static_cast<double>(repeats);
  }

  GpuRerankFigures figures() const {
    GpuRerankFigures figures = figures_;
    figures.seconds = median(seconds_);
    if (times_.empty()) return figures;
    const auto seconds = [&](double gpu::RankerTimes::*stage) { return 1e-6 * median_of(times_, stage); };
    figures.copy_in = seconds(&gpu::RankerTimes::copy_in_us);
    figures.copy_out = seconds(&gpu::RankerTimes::copy_out_us);
    figures.stages = {seconds(&gpu::RankerTimes::inputs_us), seconds(&gpu::RankerTimes::trees_us),
                      seconds(&gpu::RankerTimes::layers_us)};
    return figures;
  }

 private:
  void answer(const gpu::DeviceRanker* held) {
    queries_.for_each([&](const FeatureColumns& query) {
      subject_.score(held, query, scores_);
      keep(scores_.data());
    });
  }

  void measure_stages(const gpu::DeviceRanker& held) {
    subject_.flight().measure_times(true);
    queries_.for_each([&](const FeatureColumns& query) {
      subject_.score(&held, query, scores_);
      times_.push_back(subject_.flight().times());
    });
    subject_.flight().measure_times(false);
  }

  double per_query(double total) const { return total / static_cast<double>(figures_.queries); }

  const GpuSubject& subject_;
  RerankQueries queries_;
  std::vector<double> scores_;
  GpuRerankFigures figures_;
  std::vector<double> seconds_;
  std::vector<gpu::RankerTimes> times_;  ///< by query
};

/// The number of columns that the models read.
std::size_t features_of(std::span<const RerankSubject> subjects) {
  std::size_t columns = 0;
  for (const RerankSubject& subject : subjects) columns = std::max(columns, subject.model->features.size());
  return columns;
}

}  // namespace

GpuRerankResult measure_gpu_reranking(std::span<const RerankSubject> subjects, const FeatureColumns& features,
                                      const RerankBenchOptions& options, const GpuRerankBenchOptions& on_gpu,
                                      Progress& progress) {
  check_rerank_options(subjects, features, options);
  const std::vector<GpuInfo> gpus = list_gpus();
  if (on_gpu.gpu >= gpus.size())
    throw InvalidArgument("no GPU {}: this machine has {}; measure with {} cpu", on_gpu.gpu, gpus.size(),
                          option_name<"device">);
  gpu::MemoryAccount working, pinned;
  gpu::RankerCache cache(on_gpu.gpu, on_gpu.ranker_bytes, on_gpu.fast_math);
  gpu::RankerFlight flight(on_gpu.gpu, working, pinned);
  // Copied to the GPU without gathering.
  const gpu::PinnedArray<float> values(pinned, gpu::MemoryUse::pinned, features_of(subjects) * features.stride);
  std::copy_n(features.values, values.size(), values.data());
  const FeatureColumns pinned_features{values.data(), features.documents, features.stride};
  std::deque<GpuSubject> models;
  std::deque<GpuRerankCase> cases;
  for (const RerankSubject& subject : subjects) {
    models.emplace_back(subject, cache, flight);
    models.back().compare(features, options, on_gpu.fast_math);
    for (const std::size_t documents : options.documents) cases.emplace_back(models.back(), pinned_features, documents);
  }
  progress.start("measure on the GPU", options.repeats * cases.size(), "measurements");
  take_turns(cases, options.repeats, [&](GpuRerankCase& one) {
    one.measure();
    progress.add(1);
  });
  const EnergyMeter meter({&gpus[on_gpu.gpu], 1});
  for (GpuRerankCase& one : cases) one.measure_energy(meter, on_gpu.energy_seconds);
  progress.finish();
  GpuRerankResult result;
  for (const GpuSubject& model : models) result.loads.push_back(model.load());
  for (const GpuRerankCase& one : cases) result.figures.push_back(one.figures());
  return result;
}

}  // namespace quern
