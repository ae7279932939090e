#include "quern/gpu/query_backend.hpp"

#include "quern/gpu/device/device_info.hpp"

namespace quern {
namespace {

/// Intersections whose results, of any length, are kept at a time.
constexpr std::size_t intersections_per_call = std::size_t{1} << 14;

/// What make() returns, a pointer, if queries are to run on a GPU; else null. With `automatic`, errors become notices.
template <class Make>
auto make_unless_on_cpu(QueryDevice device, const FailoverNotice& notice, Make&& make) -> decltype(make()) {
  if (device == QueryDevice::cpu) return nullptr;
  try {
    return translate_errors(make);
  } catch (const Error& error) {
    if (device != QueryDevice::automatic) throw;
    notice(std::string("queries run on the CPU: ") + error.what());
    return nullptr;
  }
}

}  // namespace

void require_gpu(unsigned gpu) { gpu::gpu_numbers(gpu, 1); }

class FailoverBackend::Pending final : public PendingSearch {
 public:
  explicit Pending(const SearchRequest& request) : PendingSearch(request) {}

  std::future<FoundOnGpus> on_gpus;  ///< not valid: the CPU answers
};

bool FailoverBackend::on_gpus(ShardFilters passing) {
  if (cpu_ != nullptr && gpus_.failed()) return false;
  if (passing.empty()) return true;
  try {
    gpus_.gpus().check_filters();
    return true;
  } catch (const InvalidArgument& error) {
    if (cpu_ == nullptr) throw;
    if (!filter_reported_.exchange(true)) notice_(std::string("queries run on the CPU: ") + error.what());
    return false;
  }
}

std::unique_ptr<PendingSearch> FailoverBackend::begin(const SearchRequest& request) {
  auto pending = std::make_unique<Pending>(request);
  if (!on_gpus(request.passing)) return pending;
  pending->on_gpus = gpus_.begin(pending->request());
  return pending;
}

void FailoverBackend::finish(PendingSearch& search, const AnswerConsumer& consumer) {
  auto& pending = static_cast<Pending&>(search);
  const auto answer_on_cpu = [&] { cpu_->finish(*cpu_->begin(pending.request()), consumer); };
  if (!pending.on_gpus.valid()) return answer_on_cpu();
  FoundOnGpus found;
  try {
    found = pending.on_gpus.get();
  } catch (const CudaError&) {
    if (cpu_ == nullptr) throw;
    gpus_.report();
    return answer_on_cpu();
  }
  gpus_.report();
  found.hand_over(consumer);
}

SearchDivision FailoverBackend::division(const SearchRequest& request, std::uint64_t held_bytes) {
  if (!on_gpus(request.passing)) return cpu_->division(request, held_bytes);
  return divide_for_gpus(gpus_.gpus(), request, held_bytes);
}

FailoverIntersection::FailoverIntersection(const Intersection& cpu, QueryDevice device, std::string_view gpu_method,
                                           const GpuIntersectionOptions& options, Progress& progress,
                                           FailoverNotice notice)
    : cpu_(cpu), device_(device), notice_(std::move(notice)) {
  gpu_ = make_unless_on_cpu(device, notice_, [&] {
    const GpuIntersectionMethod& method =
        gpu_method.empty() ? all_gpu_intersection_methods().front() : gpu_intersection_method_named(gpu_method);
    return std::make_unique<GpuIntersection>(cpu.index(), method, options, progress);
  });
}

void FailoverIntersection::run(std::span<const QueryView> queries, unsigned threads, const IntersectionSteps& steps,
                               std::uint64_t held_bytes) {
  const std::size_t done = gpu_ ? run_on_gpu(queries, steps) : 0;
  const auto take = [&](std::size_t i, const IntersectionAnswer& answer) {
    steps.take(done + i, answer.documents);
    steps.count_cpu(answer.statistics);
  };
  intersect_batch(cpu_, queries.subspan(done), threads, take, held_bytes);
}

std::size_t FailoverIntersection::run_on_gpu(std::span<const QueryView> queries, const IntersectionSteps& steps) {
  std::size_t done = 0;
  while (done < queries.size()) {
    const std::size_t first = done, count = std::min(intersections_per_call, queries.size() - first);
    // With bucketing, answers come in another order.
    std::vector<std::vector<docid_t>> kept(gpu_->bucketing() ? count : 0);
    GpuIntersectionStatistics counted;
    WallClock::duration taking{};
    const auto begun = WallClock::now();
    const auto take = [&](std::size_t i, std::span<const docid_t> documents) {
      if (gpu_->bucketing()) return kept[i].assign(documents.begin(), documents.end());
      const auto before = WallClock::now();
      steps.take(first + i, documents);
      ++done;
      taking += WallClock::now() - before;
    };
    try {
      gpu_->run(queries.subspan(first, count), take, &counted);
    } catch (const CudaError& error) {
      if (device_ == QueryDevice::gpu) throw;
      notice_(std::string("the CPU answers the remaining queries: ") + error.what());
      return done;
    }
    for (const std::string& failed : counted.failed_gpus) notice_(failed);
    steps.count_gpu(counted, us_since(begun + taking));
    for (const std::vector<docid_t>& documents : kept) steps.take(done++, documents);
  }
  return done;
}

QueryBackend::QueryBackend(std::vector<const QueryEngine*> engines, BackendOptions options, Progress& progress)
    : cpu_(std::move(engines)), backend_(&cpu_) {
  if (options.device != QueryDevice::cpu && !list_gpus().empty()) gpu::gpu_numbers(options.gpu.gpu, options.gpu.gpus);
  if (options.shard_memory.empty()) options.shard_memory.resize(cpu_.engines().size(), options.gpu.memory);
  shards_ = make_unless_on_cpu(options.device, options.notice, [&] {
    return std::make_unique<GpuShards>(cpu_.engines(), options.gpu, options.shard_memory,
                                       options.device != QueryDevice::gpu, progress);
  });
  if (!shards_) return;
  gpus_ = std::make_unique<FallibleGpus>(*shards_, options.notice);
  if (options.device == QueryDevice::both) {
    HybridOptions& hybrid = options.hybrid;
    hybrid.max_batch = std::min(hybrid.max_batch, options.gpu.batch_queries);
    hybrid.strategy = options.gpu.strategy->name;
    hybrid.counts_missing = hybrid.counts_missing && shards_->lacks_lists();
    hybrid_ = std::make_unique<HybridBackend>(cpu_, *gpus_, std::move(options.costs), std::move(hybrid));
    backend_ = hybrid_.get();
    return;
  }
  CpuBackend* const cpu = options.device == QueryDevice::automatic ? &cpu_ : nullptr;
  failover_ = std::make_unique<FailoverBackend>(*gpus_, cpu, options.notice);
  backend_ = failover_.get();
}

}  // namespace quern

namespace quern::gpu {

std::unique_ptr<GpuReranker> make_gpu_reranker(const Reranker& on_cpu, QueryDevice device, GpuRerankOptions options,
                                               Progress& progress) {
  if (device == QueryDevice::cpu) return nullptr;
  options.cpu_goes_on = device != QueryDevice::gpu;
  try {
    require_gpu(options.gpu);
    return std::make_unique<GpuReranker>(on_cpu, options, progress);
  } catch (const CudaError& error) {
    if (device != QueryDevice::automatic) throw;
    options.notice(std::string("results are reranked on the CPU: ") + error.what());
    return nullptr;
  }
}

}  // namespace quern::gpu
