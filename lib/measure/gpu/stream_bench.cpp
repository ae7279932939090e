#include "quern/measure/gpu/stream_bench.hpp"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "quern/core/check_range.hpp"
#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/measure/wait_until.hpp"
#include "quern/query/batch_collector.hpp"

namespace quern {
namespace {

struct Arrival {
  std::string_view text;
  WallClock::time_point time;
};
using Collector = BatchCollector<Arrival>;

void send(Collector& collector, std::span<const std::string_view> texts, const StreamOptions& options) {
  RandomBits random(options.seed);
  const auto begun = WallClock::now();
  double seconds = 0;
  for (std::size_t i = 0;; i = (i + 1) % texts.size()) {
    seconds -= std::log(1 - random.unit()) / options.queries_per_second;
    if (seconds > options.seconds) break;
    const auto time = begun + std::chrono::duration_cast<WallClock::duration>(std::chrono::duration<double>(seconds));
    wait_until(time);
    if (!collector.push({texts[i], time})) return;
  }
  collector.finish();
}

/// The sending thread; ends with this object, even if an exception is thrown.
class Sender {
 public:
  Sender(Collector& collector, std::span<const std::string_view> texts, const StreamOptions& options)
      : collector_(collector), thread_([&collector, texts, &options] { send(collector, texts, options); }) {}
  ~Sender() {
    collector_.close();
    thread_.join();
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

 private:
  Collector& collector_;
  std::thread thread_;
};

}  // namespace

void check_stream_options(const StreamOptions& options) {
  check_range("queries per second", options.queries_per_second, 1e-3, 1e9);
  check_range("queries per batch", options.max_queries, 1, gpu::max_batch_queries);
  check_range("the longest wait in us", static_cast<double>(options.wait.count()), 0, 1e12);
  check_range("seconds", options.seconds, 0, 1e4);
}

StreamFigures measure_stream(GpuEngine& gpu, std::span<const std::string_view> texts, const QueryAlgorithm& algorithm,
                             std::size_t k, const StreamOptions& options) {
  check_stream_options(options);
  if (texts.empty()) throw InvalidArgument("a benchmark needs at least one query");
  gpu.set_batch_queries(options.max_queries);
  gpu.search(texts.first(std::min(texts.size(), options.max_queries)), algorithm, k);
  StreamFigures figures;
  std::vector<double> response_us;
  Collector collector(options.max_queries, options.wait);
  const Sender sender(collector, texts, options);
  WallClock::time_point first, last;
  for (auto batch = collector.take(); !batch.empty(); batch = collector.take()) {
    std::vector<std::string_view> own;
    for (const Arrival& arrival : batch) own.push_back(arrival.text);
    gpu.search(own, algorithm, k);
    last = WallClock::now();
    if (figures.batches++ == 0) first = batch.front().time;
    figures.queries += batch.size();
    for (const Arrival& arrival : batch)
      response_us.push_back(std::chrono::duration<double, std::micro>(last - arrival.time).count());
  }
  if (figures.queries > 0)
    figures.queries_per_second =
        static_cast<double>(figures.queries) / std::chrono::duration<double>(last - first).count();
  figures.response_us = summarize(std::move(response_us));
  return figures;
}

}  // namespace quern
