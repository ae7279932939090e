#include "quern/gpu/intersect/intersect_worker.hpp"

#include <numeric>

#include "quern/gpu/device/in_parallel.hpp"

namespace quern {
namespace {

/// Maximum words for results: limited by the kernels' 32-bit counters, and by the size of one copy of all space.
constexpr std::uint64_t max_packed = std::uint64_t{1} << 31, max_whole = std::uint64_t{1} << 28;

}  // namespace

GpuIntersectionStatistics& GpuIntersectionStatistics::operator+=(const GpuIntersectionStatistics& other) {
  using T = GpuIntersectionStatistics;
  GpuWorkStatistics::operator+=(other);
  longest_response_us = std::max(longest_response_us, other.longest_response_us);
  return gpu::add_members(*this, other, &T::postings, &T::unpacked, &T::response_us, &T::device);
}

void IntersectionContext::find_lists(std::span<IntersectionQuery* const> queries) {
  gpu::in_parallel(queries.size(), [&](std::size_t i) {
    IntersectionQuery& query = *queries[i];
    if (query.found_lists) return;
    Intersection::WorkSpace& space = spaces.local();
    if (cpu.find_lists(query.terms, space, &found_terms))
      query.lists = space.lists;
    else
      query.lists.clear();
    query.found_lists = true;
  });
}

IntersectWorker::IntersectWorker(IntersectionContext& context, unsigned gpu, Progress& progress)
    : GpuWorker(context.index, gpu,
                context.options.memory.per_gpu(gpu::gpu_numbers(context.options.gpu, context.options.gpus).size()),
                progress),
      context_(context),
      unpacked_account_(index_.bytes_per_batch(), &index_.whole_account()),
      unpacked_(context.index.num_documents(), 0),
      batch_(context.index, unpacked_, context.method->unpacking, {}) {
  // Half of two batches' memory is for unpacked lists.
  for (unsigned i = 0; i < num_flights; ++i)
    flights_.emplace_back(index_, store_ ? &*store_ : nullptr, index_.bytes_per_batch() / 2);
  prepare_method(false);
}

void IntersectWorker::prepare_method(bool keep_unpacked) {
  if (context_.method->unpacking != gpu::Unpacking::none && unpacked_memory_.size() == 0) {
    const std::uint64_t limit = context_.options.unpacked_bytes;
    const std::uint64_t all = index_.bytes_per_batch() / 512 * 512;
    const std::uint64_t max_bytes = limit > 0 ? std::min(limit, all) : all;
    // At most enough for the docIDs and directories of all lists.
    const std::uint64_t words = std::min(max_bytes / 4, context_.index.manifest().postings / 4 * 6 + 4096);
    gpu::use_gpu(gpu());
    unpacked_memory_ = {unpacked_account_, gpu::MemoryUse::working, words};
    unpacked_ = gpu::UnpackedLists(context_.index.num_documents(), words, context_.options.memory.retention);
  }
  if (!keep_unpacked) unpacked_.clear();
}

std::uint64_t IntersectWorker::max_words() const {
  // A runner has space for results and for packed documents; arrays grow by a quarter more: 5/8 of its memory.
  const std::uint64_t words = std::min(index_.bytes_per_batch() / 2 / 4 / 4, max_packed);
  return context_.transfer() == gpu::ResultTransfer::packed ? words : std::min(words, max_whole);
}

gpu::ItemSizes IntersectWorker::item_sizes() const {
  gpu::ItemSizes sizes;
  if (context_.method->any_transfer) sizes.documents = 0;
  if (context_.method->kernels == gpu::IntersectKernels::merge_find)
    sizes.blocks = gpu::merge_find_tile / context_.index.block_size();
  return sizes;
}

gpu::ListFormat IntersectWorker::format_in_windows() const {
  const gpu::Unpacking unpacking = context_.method->unpacking;
  if (unpacking == gpu::Unpacking::documents) return gpu::ListFormat::documents;
  return unpacking == gpu::Unpacking::buckets ? gpu::ListFormat::buckets : gpu::ListFormat::coded;
}

gpu::MemoryTable IntersectWorker::memory() const {
  gpu::MemoryTable all = GpuWorker::memory();
  all[static_cast<std::size_t>(gpu::MemoryUse::working)] += unpacked_memory_.size_bytes();
  return all;
}

void IntersectWorker::process(gpu::WorkQueue<IntersectionQuery>& queue, const Take& take,
                              GpuIntersectionStatistics& statistics) {
  const std::lock_guard alone(processing_);
  gpu::answer_in_turn(
      queue, control_,
      [&](unsigned number, Queries queries) {
        flights_[number].statistics = &statistics;
        return launch_batch(number, queries);
      },
      [&](unsigned number, Queries queries) { finish(number, queries, take); },
      [&](unsigned number) {
        const auto locked = control_.lock();
        forget_lists(number);
      });
  note_peak(statistics);
}

std::size_t IntersectWorker::launch_batch(unsigned number, Queries queries) {
  flights_[number].begun = WallClock::now();
  context_.find_lists(queries);
  return launch(number, queries);
}

void IntersectWorker::finish(unsigned number, Queries queries, const Take& take) {
  for (std::size_t count = queries.size();;) {
    if (land(number, queries.first(count)) != gpu::Landing::again) {
      take_answers(flights_[number], queries.first(count), take);
      queries = queries.subspan(count);
      if (queries.empty()) return;
    }
    count = launch_batch(number, queries);
  }
}

std::size_t IntersectWorker::fill(unsigned number, Queries queries, bool /*for_windows*/) {
  Flight& flight = flights_[number];
  flight.windows.reset();
  flight.answers.clear();
  unpacked_.cancel(number);
  begin_batch(number);
  return add(batch_, queries, batch_end_);
}

bool IntersectWorker::make_windows(unsigned number, Queries queries, std::size_t& count) {
  unpacked_.cancel(number);
  const gpu::ListFormat format = format_in_windows();
  const bool unpacks = format != gpu::ListFormat::coded;
  if (unpacks) {
    // Windows may use all of the memory for unpacked lists.
    if (unpacked_.in_use()) free_lists_of_others(number);
    unpacked_.clear();
  }
  // For the batch as a whole, lists that each window unpacks are only coded.
  auto batch = std::make_unique<gpu::IntersectBatch>(
      context_.index, unpacked_, unpacks ? gpu::Unpacking::none : context_.method->unpacking, item_sizes(), number);
  count = add(*batch, queries, batch_end_);
  if (batch->size() == 0) return false;
  batch->finish_for_windows();
  const std::vector<gpu::WantedList> all = batch->coded_lists();
  const std::vector<gpu::WantedList> wanted = unpacks ? all : store_->without_rarely_read(all);
  return cut(number, wanted, [&](std::uint64_t words) {
    return std::make_unique<gpu::WindowedBatch>(std::move(batch), wanted, store_->cache(), words, format,
                                                unpacked_.words());
  });
}

void IntersectWorker::prepare_windows(unsigned number) {
  Flight& flight = flights_[number];
  const gpu::IntersectBatch& batch = flight.windows->batch();
  flight.places.resize(batch.size());
  std::iota(flight.places.begin(), flight.places.end(), 0u);
  flight.statistics->postings += batch.postings;
}

std::size_t IntersectWorker::start_whole(unsigned number, Queries queries, std::size_t count) {
  Flight& flight = flights_[number];
  wait_for_copies();
  if (batch_end_ == Placement::no_room && batch_.size() == 0) {
    add_with_all_memory(*queries[count], number);
    ++count;
    count += add(batch_, queries.subspan(count), batch_end_);
  }
  batch_.finish();
  if (store_) {
    bring_lists(number, batch_.coded_lists());
    batch_.place_unpacked();
  }
  flight.places = batch_.places;
  flight.has_batch = batch_.size() > 0;
  if (flight.has_batch)
    flight.runner->start(batch_, context_.work(), unpacked_memory_.data(), runner_before(number));
  else
    unpacked_.cancel(number);
  flight.statistics->postings += batch_.postings;
  flight.statistics->unpacked.add(batch_);
  return count;
}

void IntersectWorker::wait_for_results(unsigned number) {
  Flight& flight = flights_[number];
  if (flight.windows == nullptr) {
    flight.answers = flight.runner->wait();
    return;
  }
  gpu::WindowedAnswers found = flight.runner->wait_for_windows();
  flight.window_answers = std::move(found.documents);
  flight.answers.assign(flight.window_answers.begin(), flight.window_answers.end());
  flight.statistics->unpacked += found.unpacked;
}

void IntersectWorker::release_decoded(unsigned number, bool ran) noexcept {
  if (ran)
    unpacked_.release(number);
  else
    unpacked_.cancel(number);
}

IntersectWorker::Placement IntersectWorker::add(gpu::IntersectBatch& batch, const IntersectionQuery& query) const {
  if (query.lists.empty()) return Placement::no_match;
  const std::uint64_t more = query.lists.front().df + gpu::bit_words(0), words = max_words();
  if (more > words) return Placement::on_cpu;
  if (batch.result_words + more > words) return Placement::next_batch;
  return batch.add(query.lists) ? Placement::added : Placement::no_room;
}

std::size_t IntersectWorker::add(gpu::IntersectBatch& batch, Queries queries, Placement& end) const {
  end = Placement::added;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    IntersectionQuery& query = *queries[i];
    const Placement placement = add(batch, query);
    if (placement == Placement::next_batch || placement == Placement::no_room) {
      end = placement;
      return i;
    }
    query.in_batch = placement == Placement::added;
    query.on_cpu = placement == Placement::on_cpu;
  }
  return queries.size();
}

void IntersectWorker::add_with_all_memory(IntersectionQuery& query, unsigned number) {
  free_lists_of_others(number);
  for (const bool drop_all : {false, true}) {
    unpacked_.cancel(number);
    if (drop_all) unpacked_.clear();  // lists that the query needs may fragment the free space
    begin_batch(number);
    query.in_batch = batch_.add(query.lists);
    query.on_cpu = !query.in_batch;
    if (query.in_batch) return;
  }
  unpacked_.cancel(number);
  begin_batch(number);
}

void IntersectWorker::take_answers(Flight& flight, Queries queries, const Take& take) {
  std::size_t next = 0;
  for (IntersectionQuery* query : queries) {
    std::span<const docid_t> documents;
    if (query->in_batch) documents = flight.answers[flight.places[next++]];
    if (std::exchange(query->is_taken, true)) continue;
    if (query->on_cpu)
      answer_on_cpu(*query, take, *flight.statistics);
    else
      take(*query, documents);
  }
  flight.windows.reset();
  flight.window_answers.clear();
  if (flight.answers.empty()) return;
  const double response = us_since(flight.begun);
  flight.statistics->response_us += response;
  flight.statistics->longest_response_us = std::max(flight.statistics->longest_response_us, response);
}

void IntersectWorker::answer_on_cpu(IntersectionQuery& query, const Take& take, GpuIntersectionStatistics& statistics) {
  IntersectionAnswer answer;
  context_.cpu.answer(query.terms, context_.spaces.local(), answer);
  ++statistics.on_cpu;
  statistics.postings += answer.statistics.counts.postings;
  take(query, answer.documents);
}

}  // namespace quern
