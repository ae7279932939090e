#include "quern/gpu/intersection/intersect_share.hpp"

#include <algorithm>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/engine/in_parallel.hpp"

namespace quern {
namespace {

/// Upper bounds of what the kernels' counters of documents, and one copy of all queries' memory, may take.
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
  failed_gpus.insert(failed_gpus.end(), other.failed_gpus.begin(), other.failed_gpus.end());
  return *this;
}

void IntersectionContext::find_lists(std::span<IntersectionQuery* const> queries) {
  gpu::in_parallel(queries.size(), [&](std::size_t i) {
    IntersectionQuery& query = *queries[i];
    if (query.found_lists) return;
    Intersection::WorkSpace& space = spaces.local();
    if (cpu.find_lists(query.text, space))
      query.lists = space.lists;
    else
      query.lists.clear();
    query.found_lists = true;
  });
}

IntersectShare::IntersectShare(IntersectionContext& context, unsigned gpu, Progress& progress)
    : context_(context),
      index_(context.index, gpu, progress),
      unpacked_memory_(index_, 0),
      unpacked_(context.index.num_documents(), 0),
      batch_(context.index, unpacked_, context.method->unpacking, {}) {
  for (unsigned i = 0; i < num_flights; ++i) flights_.push_back({gpu::IntersectRunner(index_), {}, {}});
  prepare_method(false);
}

void IntersectShare::prepare_method(bool keep_unpacked) {
  if (context_.method->unpacking != gpu::Unpacking::none && unpacked_words_ == 0) {
    const std::uint64_t limit = context_.options.unpacked_bytes;
    const std::uint64_t most = limit > 0 ? limit : index_.free_bytes() / 2;
    // docIDs and directories of all lists.
    unpacked_words_ = std::min(most / 4, context_.index.manifest().postings / 4 * 6 + 4096);
    unpacked_memory_ = gpu::UnpackedMemory(index_, unpacked_words_);
    unpacked_ = gpu::UnpackedLists(context_.index.num_documents(), unpacked_words_);
  }
  if (!keep_unpacked) unpacked_.clear();
}

std::uint64_t IntersectShare::max_words() const {
  const std::uint64_t free_words = (index_.free_bytes() - 4 * unpacked_words_) / 4;
  // For each runner the queries' memory and the packed documents, with what arrays grow beyond that: five eighths.
  const std::uint64_t words = std::min(free_words / 4 / num_flights, max_packed);
  return context_.transfer() == gpu::ResultTransfer::packed ? words : std::min(words, max_whole);
}

void IntersectShare::begin_batch() {
  gpu::PartSizes sizes;
  if (context_.method->any_transfer) sizes.documents = 0;
  if (context_.method->kernels == gpu::IntersectKernels::merge_find)
    sizes.blocks = gpu::merge_find_tile / context_.index.block_size();
  batch_.begin(context_.method->unpacking, sizes);
}

std::size_t IntersectShare::launch(unsigned number, std::span<IntersectionQuery* const> queries) {
  Flight& flight = flights_[number];
  flight.begun = WallClock::now();
  context_.find_lists(queries);
  begin_batch();
  std::size_t count = 0;
  const std::uint64_t words = max_words();
  for (IntersectionQuery* query : queries) {
    const Fit fit = query->lists.empty() ? Fit::nothing_to_do : add(*query, words);
    if (fit == Fit::next_batch) break;
    query->in_batch = fit == Fit::added;
    query->on_cpu = fit == Fit::never;
    if (fit == Fit::alone) add_alone(*query);
    ++count;
  }
  batch_.finish();
  count_batch();
  counted_.prepare_us += us_since(flight.begun);
  flight.places = batch_.places;
  if (batch_.size() == 0) return count;
  ++counted_.batches;
  const gpu::IntersectWork work{context_.method->kernels, context_.options.levels, context_.transfer()};
  flight.runner.start(batch_, work, unpacked_memory_, last_runner_ == &flight.runner ? nullptr : last_runner_);
  last_runner_ = &flight.runner;
  return count;
}

void IntersectShare::count_batch() {
  counted_.postings += batch_.postings;
  counted_.unpacked_lists += batch_.unpack.size();
  for (const gpu::UnpackTask& task : batch_.unpack) counted_.unpacked_postings += task.list.df;
  counted_.unpacked_bytes += 4 * (batch_.unpack_end - batch_.unpack_begin);
}

IntersectShare::Fit IntersectShare::add(const IntersectionQuery& query, std::uint64_t max_words) {
  const std::uint64_t more = query.lists.front().df + gpu::bit_words(0);
  if (more > max_words) return Fit::never;
  if (batch_.room_words() + more <= max_words && batch_.add(query.lists)) return Fit::added;
  return batch_.size() > 0 ? Fit::next_batch : Fit::alone;
}

void IntersectShare::add_alone(IntersectionQuery& query) {
  unpacked_.clear();
  begin_batch();
  query.in_batch = batch_.add(query.lists);
  query.on_cpu = !query.in_batch;
  if (query.in_batch) return;
  unpacked_.clear();
  begin_batch();
}

void IntersectShare::land(unsigned number, std::span<IntersectionQuery* const> queries) {
  Flight& flight = flights_[number];
  std::vector<std::span<const docid_t>> answers;
  if (!flight.places.empty()) {
    answers = flight.runner.wait();
    counted_.device += flight.runner.times();
  }
  std::size_t next = 0;
  for (const IntersectionQuery* query : queries) {
    if (query->on_cpu)
      answer_on_cpu(*query);
    else
      take_(*query, query->in_batch ? answers[flight.places[next++]] : std::span<const docid_t>());
  }
  if (answers.empty()) return;
  const double response = us_since(flight.begun);
  counted_.response_us += response;
  counted_.longest_response_us = std::max(counted_.longest_response_us, response);
}

void IntersectShare::answer_on_cpu(const IntersectionQuery& query) {
  IntersectionAnswer answer;
  context_.cpu.answer(query.text, context_.spaces.local(), answer);
  ++counted_.on_cpu;
  counted_.postings += answer.statistics.counts.postings;
  take_(query, answer.documents);
}

void IntersectShare::abandon() noexcept {
  for (Flight& flight : flights_) flight.runner.abandon();
  last_runner_ = nullptr;
  unpacked_.clear();
}

}  // namespace quern
