#include "quern/gpu/intersection/intersect_share.hpp"

#include <algorithm>

#include "quern/gpu/device/tuning.hpp"

namespace quern {
namespace {

/// Maximum words for results: what the kernels' 32-bit counters can count, and what one copy of them all should take.
constexpr std::uint64_t max_packed = std::uint64_t{1} << 31, max_whole = std::uint64_t{1} << 28;

}  // namespace

GpuIntersectionStatistics& GpuIntersectionStatistics::operator+=(const GpuIntersectionStatistics& other) {
  using T = GpuIntersectionStatistics;
  longest_response_us = std::max(longest_response_us, other.longest_response_us);
  failed_gpus.insert(failed_gpus.end(), other.failed_gpus.begin(), other.failed_gpus.end());
  return gpu::add_members(*this, other, &T::queries, &T::batches, &T::on_cpu, &T::postings, &T::unpacked_lists,
                          &T::unpacked_postings, &T::unpacked_bytes, &T::prepare_us, &T::response_us, &T::device);
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
    const std::uint64_t max_bytes = limit > 0 ? limit : index_.free_bytes() / 2;
    // Enough for the docIDs and directories of all lists.
    unpacked_words_ = std::min(max_bytes / 4, context_.index.manifest().postings / 4 * 6 + 4096);
    unpacked_memory_ = gpu::UnpackedMemory(index_, unpacked_words_);
    unpacked_ = gpu::UnpackedLists(context_.index.num_documents(), unpacked_words_);
  }
  if (!keep_unpacked) unpacked_.clear();
}

std::uint64_t IntersectShare::max_words() const {
  const std::uint64_t free_words = (index_.free_bytes() - 4 * unpacked_words_) / 4;
  // Each runner has space for results and as much for packed documents, and arrays grow by a quarter: 5/8 of the
  // memory.
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
  flight.started = WallClock::now();
  context_.find_lists(queries);
  begin_batch();
  std::size_t count = 0;
  const std::uint64_t words = max_words();
  for (IntersectionQuery* query : queries) {
    const Placement placement = query->lists.empty() ? Placement::no_match : add(*query, words);
    if (placement == Placement::next_batch) break;
    query->in_batch = placement == Placement::added;
    query->on_cpu = placement == Placement::on_cpu;
    if (placement == Placement::evict_all) add_after_eviction(*query);
    ++count;
  }
  batch_.finish();
  count_batch();
  counted_.prepare_us += us_since(flight.started);
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

IntersectShare::Placement IntersectShare::add(const IntersectionQuery& query, std::uint64_t max_words) {
  const std::uint64_t more = query.lists.front().df + gpu::bit_words(0);
  if (more > max_words) return Placement::on_cpu;
  if (batch_.result_words() + more <= max_words && batch_.add(query.lists)) return Placement::added;
  return batch_.size() > 0 ? Placement::next_batch : Placement::evict_all;
}

void IntersectShare::add_after_eviction(IntersectionQuery& query) {
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
  const double response = us_since(flight.started);
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
