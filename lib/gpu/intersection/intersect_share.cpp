#include "quern/gpu/intersection/intersect_share.hpp"

#include <algorithm>
#include <utility>

#include "quern/gpu/device/tuning.hpp"

namespace quern {
namespace {

/// Maximum words for results: what the kernels' 32-bit counters can count, and what one copy of them all should take.
constexpr std::uint64_t max_packed = std::uint64_t{1} << 31, max_whole = std::uint64_t{1} << 28;

/// Of each GPU.
gpu::GpuMemoryOptions memory_of(const GpuIntersectionOptions& options) {
  return options.memory.of_each(gpu::gpu_numbers(options.gpu, options.gpus).size());
}

}  // namespace

GpuIntersectionStatistics& GpuIntersectionStatistics::operator+=(const GpuIntersectionStatistics& other) {
  using T = GpuIntersectionStatistics;
  longest_response_us = std::max(longest_response_us, other.longest_response_us);
  failed_gpus.insert(failed_gpus.end(), other.failed_gpus.begin(), other.failed_gpus.end());
  for (std::size_t use = 0; use < memory.size(); ++use) memory[use] = std::max(memory[use], other.memory[use]);
  return gpu::add_members(*this, other, &T::queries, &T::batches, &T::on_cpu, &T::postings, &T::unpacked_lists,
                          &T::unpacked_postings, &T::unpacked_bytes, &T::prepare_us, &T::response_us, &T::device,
                          &T::lists, &T::copy_lists_us);
}

void IntersectionContext::find_lists(std::span<IntersectionQuery* const> queries) {
  gpu::in_parallel(queries.size(), [&](std::size_t i) {
    IntersectionQuery& query = *queries[i];
    if (query.found_lists) return;
    Intersection::WorkSpace& space = spaces.local();
    if (cpu.find_lists(query.text, space, &found_terms))
      query.lists = space.lists;
    else
      query.lists.clear();
    query.found_lists = true;
  });
}

IntersectShare::IntersectShare(IntersectionContext& context, unsigned gpu, Progress& progress)
    : context_(context),
      index_(context.index, gpu, memory_of(context.options), progress),
      unpacked_memory_(index_, 0),
      unpacked_(context.index.num_documents(), 0),
      batch_(context.index, unpacked_, context.method->unpacking, {}) {
  if (!index_.division().whole_index) store_.emplace(index_, context.options.memory, progress);
  // Of what two batches may take, half is for unpacked lists.
  for (unsigned i = 0; i < num_flights; ++i)
    flights_.push_back(
        {gpu::IntersectRunner(index_, store_ ? &*store_ : nullptr, index_.bytes_per_batch() / 2), {}, {}});
  prepare_method(false);
}

void IntersectShare::prepare_method(bool keep_unpacked) {
  if (context_.method->unpacking != gpu::Unpacking::none && unpacked_words_ == 0) {
    const std::uint64_t limit = context_.options.unpacked_bytes;
    const std::uint64_t all = index_.bytes_per_batch() / 512 * 512;
    const std::uint64_t max_bytes = limit > 0 ? std::min(limit, all) : all;
    // Enough for the docIDs and directories of all lists.
    unpacked_words_ = std::min(max_bytes / 4, context_.index.manifest().postings / 4 * 6 + 4096);
    unpacked_memory_ = gpu::UnpackedMemory(index_, unpacked_words_);
    unpacked_ = gpu::UnpackedLists(context_.index.num_documents(), unpacked_words_, context_.options.memory.retention);
  }
  if (!keep_unpacked) unpacked_.clear();
}

std::uint64_t IntersectShare::max_words() const {
  // Each runner has space for results and as much for packed documents, and arrays grow by a quarter: 5/8 of the
  // memory.
  const std::uint64_t words = std::min(index_.bytes_per_batch() / 2 / 4 / 4, max_packed);
  return context_.transfer() == gpu::ResultTransfer::packed ? words : std::min(words, max_whole);
}

void IntersectShare::begin_batch(unsigned number) {
  gpu::PartSizes sizes;
  if (context_.method->any_transfer) sizes.documents = 0;
  if (context_.method->kernels == gpu::IntersectKernels::merge_find)
    sizes.blocks = gpu::merge_find_tile / context_.index.block_size();
  batch_.begin(context_.method->unpacking, sizes, number);
}

gpu::MemoryTable IntersectShare::memory() const {
  gpu::MemoryTable all = index_.memory();
  for (const Flight& flight : flights_)
    for (std::size_t use = 0; use < all.size(); ++use) all[use] += flight.runner.memory()[use];
  all[static_cast<std::size_t>(gpu::MemoryUse::working)] += unpacked_words_ * sizeof(std::uint32_t);
  return all;
}

std::size_t IntersectShare::launch(unsigned number, std::span<IntersectionQuery* const> queries) {
  Flight& flight = flights_[number];
  flight.started = WallClock::now();
  context_.find_lists(queries);
  for (bool freed = false;;) {
    queries = queries.first(std::min(queries.size(), most_queries_));
    try {
      const std::size_t count = start_batch(flight, number, queries);
      // Perhaps more fit by now.
      if (count == most_queries_) most_queries_ *= 2;
      return count;
    } catch (const GpuOutOfMemory&) {
      flight.runner.abandon();
      if (store_) store_->release(number);
    }
    flight.places.clear();
    unpacked_.cancel(number);
    // Arrays of earlier batches may be larger than this one needs.
    flight.runner.free_memory();
    if (freed && queries.size() == 1) break;
    if (freed) most_queries_ = queries.size() / 2;
    freed = true;
  }
  queries.front()->in_batch = false;
  queries.front()->on_cpu = true;
  return 1;
}

void IntersectShare::bring_lists(unsigned number) {
  if (!store_) return;
  const std::vector<gpu::WantedList> wanted = batch_.coded_lists();
  if (!store_->acquire(number, wanted)) {
    free_lists_of_others(number);
    if (!store_->acquire(number, wanted)) throw GpuOutOfMemory("the lists of a batch do not fit into the GPU's memory");
  }
  batch_.place_unpacked();
}

void IntersectShare::free_lists_of_others(unsigned number) {
  for (unsigned other = 0; other < num_flights; ++other) {
    if (other == number || flights_[other].places.empty()) continue;
    flights_[other].runner.wait_for_kernels();
    if (store_) store_->release(other);
    unpacked_.release(other);
  }
}

std::size_t IntersectShare::start_batch(Flight& flight, unsigned number, std::span<IntersectionQuery* const> queries) {
  const auto begun = WallClock::now();
  begin_batch(number);
  std::size_t count = 0;
  const std::uint64_t words = max_words();
  for (IntersectionQuery* query : queries) {
    const Placement placement = query->lists.empty() ? Placement::no_match : add(*query, words);
    if (placement == Placement::next_batch) break;
    query->in_batch = placement == Placement::added;
    query->on_cpu = placement == Placement::on_cpu;
    if (placement == Placement::make_room) add_with_all_memory(*query, number);
    ++count;
  }
  batch_.finish();
  bring_lists(number);
  flight.places = batch_.places;
  counted_.prepare_us += us_since(begun);
  if (batch_.size() > 0) {
    const gpu::IntersectWork work{context_.method->kernels, context_.options.levels, context_.transfer()};
    flight.runner.start(batch_, work, unpacked_memory_, last_runner_ == &flight.runner ? nullptr : last_runner_);
    last_runner_ = &flight.runner;
    ++counted_.batches;
  } else {
    unpacked_.cancel(number);
  }
  count_batch();
  return count;
}

void IntersectShare::count_batch() {
  counted_.postings += batch_.postings;
  counted_.unpacked_lists += batch_.unpack.size();
  for (const gpu::UnpackTask& task : batch_.unpack) counted_.unpacked_postings += task.list.df;
  counted_.unpacked_bytes += 4 * batch_.unpack_words;
}

IntersectShare::Placement IntersectShare::add(const IntersectionQuery& query, std::uint64_t max_words) {
  const std::uint64_t more = query.lists.front().df + gpu::bit_words(0);
  if (more > max_words) return Placement::on_cpu;
  if (batch_.result_words() + more <= max_words && batch_.add(query.lists)) return Placement::added;
  return batch_.size() > 0 ? Placement::next_batch : Placement::make_room;
}

void IntersectShare::add_with_all_memory(IntersectionQuery& query, unsigned number) {
  free_lists_of_others(number);
  for (const bool drop_all : {false, true}) {
    unpacked_.cancel(number);
    if (drop_all) unpacked_.clear();  // what is free may be in pieces between lists that the query needs
    begin_batch(number);
    query.in_batch = batch_.add(query.lists);
    query.on_cpu = !query.in_batch;
    if (query.in_batch) return;
  }
  unpacked_.cancel(number);
  begin_batch(number);
}

void IntersectShare::land(unsigned number, std::span<IntersectionQuery* const> queries) {
  Flight& flight = flights_[number];
  std::vector<std::span<const docid_t>> answers;
  if (!flight.places.empty()) {
    try {
      answers = flight.runner.wait();
    } catch (const GpuOutOfMemory&) {
      return answer_in_parts(number, queries);
    }
    unpacked_.release(number);
    counted_.device += flight.runner.times();
    if (store_) {
      store_->release(number);
      counted_.lists += store_->take_counts();
      counted_.copy_lists_us += store_->copy_us(number);
    }
  }
  std::size_t next = 0;
  for (IntersectionQuery* query : queries) {
    if (query->on_cpu)
      answer_on_cpu(*query);
    else
      take(*query, query->in_batch ? answers[flight.places[next++]] : std::span<const docid_t>());
  }
  if (answers.empty()) return;
  const double response = us_since(flight.started);
  counted_.response_us += response;
  counted_.longest_response_us = std::max(counted_.longest_response_us, response);
}

void IntersectShare::answer_in_parts(unsigned number, std::span<IntersectionQuery* const> queries) {
  Flight& flight = flights_[number];
  flight.runner.abandon();
  flight.runner.free_memory();
  flight.places.clear();
  unpacked_.release(number);
  if (store_) store_->release(number);
  if (queries.size() == 1) return answer_on_cpu(*queries.front());
  most_queries_ = queries.size() / 2;
  while (!queries.empty()) {
    const std::size_t count = launch(number, queries);
    land(number, queries.first(count));
    queries = queries.subspan(count);
  }
}

void IntersectShare::take(IntersectionQuery& query, std::span<const docid_t> documents) {
  if (!std::exchange(query.is_taken, true)) take_(query, documents);
}

void IntersectShare::answer_on_cpu(IntersectionQuery& query) {
  IntersectionAnswer answer;
  context_.cpu.answer(query.text, context_.spaces.local(), answer);
  ++counted_.on_cpu;
  counted_.postings += answer.statistics.counts.postings;
  take(query, answer.documents);
}

void IntersectShare::abandon() noexcept {
  for (unsigned number = 0; number < flights_.size(); ++number) {
    flights_[number].runner.abandon();
    flights_[number].places.clear();
    if (store_) store_->release(number);
  }
  last_runner_ = nullptr;
  unpacked_.clear();
}

}  // namespace quern
