#include "quern/gpu/intersection/gpu_intersection.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <numeric>

#include "quern/core/wall_clock.hpp"
#include "quern/gpu/common/tuning.hpp"
#include "quern/gpu/engine/in_parallel.hpp"

namespace quern {
namespace {

/// What the kernels' counters of documents, and one copy of all room, are kept below.
constexpr std::uint64_t max_packed = std::uint64_t{1} << 31, max_whole = std::uint64_t{1} << 28;

}  // namespace

GpuIntersectionStatistics& GpuIntersectionStatistics::operator+=(const GpuIntersectionStatistics& other) {
  queries += other.queries;
  batches += other.batches;
  on_cpu += other.on_cpu;
  postings += other.postings;
  unpacked_lists += other.unpacked_lists;
  unpacked_postings += other.unpacked_postings;
  unpacked_bytes += other.unpacked_bytes;
  prepare_us += other.prepare_us;
  response_us += other.response_us;
  longest_response_us = std::max(longest_response_us, other.longest_response_us);
  device += other.device;
  return *this;
}

/// A query on its way.
struct GpuIntersection::Prepared {
  std::vector<PostingList> lists;  ///< empty where nothing can be found
  bool in_batch = false, on_cpu = false;
};

/// A batch that a runner has.
struct GpuIntersection::Flight {
  gpu::IntersectRunner* runner = nullptr;
  std::vector<std::uint32_t> numbers;  ///< of queries, those without lists among them
  std::vector<std::uint32_t> places;   ///< see IntersectBatch
  WallClock::time_point begun;
};

/// One call of run().
struct GpuIntersection::Run {
  std::span<const std::string_view> texts;
  const std::function<void(std::size_t, std::span<const docid_t>)>& take;
  std::vector<Prepared>& queries;
  tbb::enumerable_thread_specific<Intersection::WorkSpace> spaces;
  std::uint64_t max_words = 0;  ///< of room for a batch
  GpuIntersectionStatistics counted;
};

GpuIntersection::GpuIntersection(const IndexReader& index, const GpuIntersectionMethod& method,
                                 const GpuIntersectionOptions& options, Progress& progress)
    : reader_(index),
      cpu_(index, all_intersection_methods().front(), {}),
      engine_(index, {}),
      method_(&method),
      options_(options),
      index_(engine_, options.gpu, progress),
      unpacked_memory_(index_, 0),
      unpacked_(index.num_documents(), 0),
      batch_(index, unpacked_, method.unpacking, {}) {
  runners_.emplace_back(index_);
  runners_.emplace_back(index_);
  use(method, options);
}
GpuIntersection::~GpuIntersection() = default;

void GpuIntersection::use(const GpuIntersectionMethod& method, const GpuIntersectionOptions& options,
                          bool keep_unpacked) {
  check_transfer(method, options);
  const bool keep = keep_unpacked && method.unpacking == method_->unpacking;
  method_ = &method;
  options_ = options;
  if (method.unpacking != gpu::Unpacking::none && unpacked_words_ == 0) {
    const std::uint64_t most = options.unpacked_bytes > 0 ? options.unpacked_bytes : index_.free_bytes() / 2;
    // Docids and directories of all lists.
    unpacked_words_ = std::min(most / 4, reader_.manifest().postings / 4 * 6 + 4096);
    unpacked_memory_ = gpu::UnpackedMemory(index_, unpacked_words_);
    unpacked_ = gpu::UnpackedLists(reader_.num_documents(), unpacked_words_);
  }
  if (!keep) unpacked_.clear();
}

gpu::PartSizes GpuIntersection::part_sizes() const {
  gpu::PartSizes sizes;
  if (method_->any_transfer) sizes.documents = 0;
  if (method_->kernels == gpu::IntersectKernels::merge_find) sizes.blocks = gpu::merge_find_tile / reader_.block_size();
  return sizes;
}

void GpuIntersection::run(std::span<const std::string_view> texts,
                          const std::function<void(std::size_t, std::span<const docid_t>)>& take,
                          GpuIntersectionStatistics* statistics) {
  if (queries_.size() < texts.size()) queries_.resize(texts.size());
  Run run{
      texts,    take,
      queries_, tbb::enumerable_thread_specific<Intersection::WorkSpace>([&] { return Intersection::WorkSpace(cpu_); }),
      0,        {}};
  run.counted.queries = texts.size();
  const std::uint64_t free_words = (index_.free_bytes() - 4 * unpacked_words_) / 4;
  // Room and documents for each runner, with what arrays grow beyond that: five eighths of it.
  run.max_words = std::min(free_words / 4 / runners_.size(), max_packed);
  if (options_.transfer.value_or(method_->transfer) != gpu::ResultTransfer::packed)
    run.max_words = std::min(run.max_words, max_whole);
  std::vector<std::uint32_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0u);
  if (bucketing()) {
    prepare(run, order);
    const auto bucket = [&](std::uint32_t i) {
      const auto& lists = run.queries[i].lists;
      return lists.empty() ? 0 : length_bucket(lists.front().df);
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return bucket(a) < bucket(b); });
  }
  std::vector<Flight> flights(runners_.size());
  try {
    std::size_t next = 0;
    for (std::span<const std::uint32_t> left = order; !left.empty(); next = (next + 1) % flights.size()) {
      Flight& flight = flights[next];
      if (flight.runner) land(run, flight);
      flight.runner = &runners_[next];
      left = left.subspan(launch(run, flight, left));
    }
    for (std::size_t i = 0; i < flights.size(); ++i, next = (next + 1) % flights.size())
      if (flights[next].runner) land(run, flights[next]);
  } catch (...) {
    unpacked_.clear();
    throw;
  }
  if (statistics) *statistics = run.counted;
}

void GpuIntersection::prepare(Run& run, std::span<const std::uint32_t> numbers) {
  const auto begun = WallClock::now();
  gpu::in_parallel(numbers.size(),
                   [&](std::size_t i) { prepare(run.queries[numbers[i]], run.texts[numbers[i]], run.spaces.local()); });
  run.counted.prepare_us += us_since(begun);
}

void GpuIntersection::prepare(Prepared& query, std::string_view text, Intersection::WorkSpace& space) const {
  query.in_batch = query.on_cpu = false;
  if (cpu_.find_lists(text, space))
    query.lists = space.lists;
  else
    query.lists.clear();
}

std::size_t GpuIntersection::launch(Run& run, Flight& flight, std::span<const std::uint32_t> numbers) {
  flight.begun = WallClock::now();
  numbers = numbers.first(std::min(numbers.size(), options_.batch_queries));
  if (!bucketing()) prepare(run, numbers);
  const auto begun = WallClock::now();
  batch_.begin(method_->unpacking, part_sizes());
  flight.numbers.clear();
  for (const std::uint32_t number : numbers) {
    Prepared& query = run.queries[number];
    const Fit fit = query.lists.empty() ? Fit::nothing_to_do : add(query, run.max_words);
    if (fit == Fit::next_batch) break;
    query.in_batch = fit == Fit::added;
    query.on_cpu = fit == Fit::never;
    if (fit == Fit::alone) {
      // All that is unpacked makes way for this query. Kernels of earlier batches run before those of this one.
      unpacked_.clear();
      batch_.begin(method_->unpacking, part_sizes());
      query.in_batch = batch_.add(query.lists);
      query.on_cpu = !query.in_batch;
      if (query.on_cpu) {
        unpacked_.clear();
        batch_.begin(method_->unpacking, part_sizes());
      }
    }
    flight.numbers.push_back(number);
  }
  batch_.finish();
  run.counted.postings += batch_.postings;
  run.counted.unpacked_lists += batch_.unpack.size();
  for (const gpu::UnpackTask& task : batch_.unpack) run.counted.unpacked_postings += task.list.df;
  run.counted.unpacked_bytes += 4 * (batch_.unpack_end - batch_.unpack_begin);
  run.counted.prepare_us += us_since(begun);
  flight.places = batch_.places;
  if (batch_.size() == 0) return flight.numbers.size();
  ++run.counted.batches;
  const gpu::IntersectWork work{method_->kernels, options_.levels, options_.transfer.value_or(method_->transfer)};
  flight.runner->start(batch_, work, unpacked_memory_, last_runner_ == flight.runner ? nullptr : last_runner_);
  last_runner_ = flight.runner;
  return flight.numbers.size();
}

GpuIntersection::Fit GpuIntersection::add(const Prepared& query, std::uint64_t max_words) {
  const std::uint64_t more = query.lists.front().df + gpu::bit_words(0);
  if (more > max_words) return Fit::never;
  if (batch_.room_words() + more <= max_words && batch_.add(query.lists)) return Fit::added;
  return batch_.size() > 0 ? Fit::next_batch : Fit::alone;
}

void GpuIntersection::land(Run& run, Flight& flight) {
  std::vector<std::span<const docid_t>> answers;
  if (!flight.places.empty()) {
    answers = flight.runner->wait();
    run.counted.device += flight.runner->times();
  }
  flight.runner = nullptr;
  std::size_t next = 0;
  for (const std::uint32_t number : flight.numbers) {
    Prepared& query = run.queries[number];
    if (query.on_cpu)
      answer_on_cpu(run, number);
    else
      run.take(number, query.in_batch ? answers[flight.places[next++]] : std::span<const docid_t>());
  }
  if (answers.empty()) return;
  const double response = us_since(flight.begun);
  run.counted.response_us += response;
  run.counted.longest_response_us = std::max(run.counted.longest_response_us, response);
}

void GpuIntersection::answer_on_cpu(Run& run, std::uint32_t number) {
  IntersectionAnswer answer;
  cpu_.answer(run.texts[number], run.spaces.local(), answer);
  ++run.counted.on_cpu;
  run.counted.postings += answer.statistics.counts.postings;
  run.take(number, answer.documents);
}

}  // namespace quern
