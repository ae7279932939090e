#include "quern/gpu/intersect/intersect_share.hpp"

#include <algorithm>
#include <utility>

#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/worker/take_or_free.hpp"

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
  return gpu::add_members(*this, other, &T::queries, &T::batches, &T::windows, &T::on_cpu, &T::postings,
                          &T::unpacked_lists, &T::unpacked_postings, &T::unpacked_bytes, &T::prepare_us,
                          &T::response_us, &T::device, &T::lists, &T::copy_lists_us);
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
    flights_.emplace_back(gpu::IntersectRunner(index_, store_ ? &*store_ : nullptr, index_.bytes_per_batch() / 2));
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

gpu::PartSizes IntersectShare::part_sizes() const {
  gpu::PartSizes sizes;
  if (context_.method->any_transfer) sizes.documents = 0;
  if (context_.method->kernels == gpu::IntersectKernels::merge_find)
    sizes.blocks = gpu::merge_find_tile / context_.index.block_size();
  return sizes;
}

void IntersectShare::begin_batch(unsigned number) { batch_.begin(context_.method->unpacking, part_sizes(), number); }

gpu::ListFormat IntersectShare::format_in_windows() const {
  switch (context_.method->unpacking) {
    case gpu::Unpacking::documents:
      return gpu::ListFormat::documents;
    case gpu::Unpacking::buckets:
      return gpu::ListFormat::buckets;
    default:
      return gpu::ListFormat::coded;
  }
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
  const auto start = [&](std::size_t most) { return start_batch(flight, number, queries.first(most)); };
  const auto clean_up = [&] {
    flight.runner.abandon();
    if (store_) store_->release(number);
    flight.places.clear();
    flight.windows.reset();
    unpacked_.cancel(number);
    // Arrays of earlier batches may be larger than this one needs.
    flight.runner.free_memory();
  };
  const std::size_t count =
      growth_.start(queries.size(), start, clean_up, [this](std::size_t tried) { growth_.too_many(tried); });
  if (count > 0) return count;
  queries.front()->in_batch = false;
  queries.front()->on_cpu = true;
  return 1;
}

void IntersectShare::release(unsigned number) {
  if (store_) store_->release(number);
  unpacked_.release(number);
}

void IntersectShare::bring_lists(unsigned number) {
  if (!store_) return;
  const std::vector<gpu::WantedList> wanted = batch_.coded_lists();
  gpu::take_or_free([&] { return store_->acquire(number, wanted); }, [&] { free_lists_of_others(number); },
                    "the lists of a batch do not fit into the GPU's memory");
  batch_.place_unpacked();
}

void IntersectShare::free_lists_of_others(unsigned number) {
  gpu::wait_for_all_copies(flights_, making_);  // only then have all kernels been enqueued
  for (unsigned other = 0; other < num_flights; ++other) {
    if (other == number || flights_[other].places.empty()) continue;
    making_.wait_for([&] { flights_[other].runner.wait_for_kernels(); });
    release(other);
  }
}

std::size_t IntersectShare::start_batch(Flight& flight, unsigned number, std::span<IntersectionQuery* const> queries) {
  making_.start();
  begin_batch(number);
  Placement end = Placement::added;
  std::size_t count = add(batch_, queries, end);
  std::size_t in_windows = 0;
  bool tried_windows = false;
  if (may_use_windows() && (end == Placement::no_room || !store_->fit(batch_.coded_lists()))) {
    unpacked_.cancel(number);
    in_windows = start_by_windows(number, queries);
    tried_windows = true;
    if (in_windows == 0) {
      unpacked_.cancel(number);
      begin_batch(number);
      count = add(batch_, queries, end);
    }
  }
  if (in_windows == 0) {
    count = start_whole(number, queries, count, end);
    if (tried_windows) growth_.fitted(count);
  }
  if (!flight.places.empty()) {
    last_runner_ = &flight.runner;
    ++counted_.batches;
  }
  counted_.prepare_us += making_.us();
  return in_windows == 0 ? count : in_windows;
}

std::size_t IntersectShare::start_whole(unsigned number, std::span<IntersectionQuery* const> queries, std::size_t count,
                                        Placement end) {
  Flight& flight = flights_[number];
  gpu::wait_for_all_copies(flights_, making_);
  if (end == Placement::no_room && batch_.size() == 0) {
    add_with_all_memory(*queries[count], number);
    ++count;
    count += add(batch_, queries.subspan(count), end);
  }
  batch_.finish();
  bring_lists(number);
  flight.places = batch_.places;
  if (batch_.size() > 0) {
    const gpu::IntersectWork work{context_.method->kernels, context_.options.levels, context_.transfer()};
    flight.runner.start(batch_, work, unpacked_memory_, runner_before(number));
  } else {
    unpacked_.cancel(number);
  }
  counted_.postings += batch_.postings;
  gpu::UnpackCounts unpacked;
  unpacked.add(batch_);
  count_unpacked(unpacked);
  return count;
}

void IntersectShare::open_windows(unsigned number) {
  gpu::wait_for_all_copies(flights_, making_);
  gpu::take_or_free([&] { return store_->open_windows(number); }, [&] { free_lists_of_others(number); },
                    "no memory is left for the lists of a batch");
}

std::size_t IntersectShare::start_by_windows(unsigned number, std::span<IntersectionQuery* const> queries) {
  const gpu::ListFormat format = format_in_windows();
  if (format != gpu::ListFormat::coded) {
    // Windows may take all of the memory for unpacked lists.
    if (unpacked_.in_use()) free_lists_of_others(number);
    unpacked_.clear();
  }
  // Lists that are unpacked in each window are only coded to the batch as a whole.
  const gpu::Unpacking unpacking = format == gpu::ListFormat::coded ? context_.method->unpacking : gpu::Unpacking::none;
  auto batch = std::make_unique<gpu::IntersectBatch>(context_.index, unpacked_, unpacking, part_sizes(), number);
  Placement end = Placement::added;
  const std::size_t count = add(*batch, queries, end);
  if (batch->size() == 0) return 0;
  batch->finish_for_windows();
  if (!store_->has_room_for_windows()) open_windows(number);
  Flight& of = flights_[number];
  const std::vector<gpu::WantedList> all = batch->coded_lists();
  const bool reads_all = format != gpu::ListFormat::coded;
  const std::vector<gpu::WantedList> wanted = reads_all ? all : store_->without_rarely_read(all);
  try {
    of.windows = std::make_unique<gpu::WindowedBatch>(std::move(batch), wanted, store_->cache(),
                                                      store_->words_per_window(), format, unpacked_.words());
  } catch (const GpuOutOfMemory&) {
    store_->release(number);
    return 0;
  }
  open_windows(number);
  const std::size_t size = of.windows->batch().size();
  for (std::size_t i = 0; i < size; ++i) of.places.push_back(static_cast<std::uint32_t>(i));
  counted_.postings += of.windows->batch().postings;
  counted_.windows += of.windows->size();
  store_->count(of.windows->counts(store_->cache()));
  const gpu::IntersectWork work{context_.method->kernels, context_.options.levels, context_.transfer()};
  // Meanwhile, the next batch is made.
  of.copies.start([this, &of, number, work, after = runner_before(number)] {
    of.runner.run_windows(*of.windows, work, unpacked_memory_, *store_, number, after);
  });
  return count;
}

void IntersectShare::count_unpacked(const gpu::UnpackCounts& counts) {
  counted_.unpacked_lists += counts.lists;
  counted_.unpacked_postings += counts.postings;
  counted_.unpacked_bytes += counts.bytes;
}

IntersectShare::Placement IntersectShare::add(gpu::IntersectBatch& batch, const IntersectionQuery& query) const {
  if (query.lists.empty()) return Placement::no_match;
  const std::uint64_t more = query.lists.front().df + gpu::bit_words(0), words = max_words();
  if (more > words) return Placement::on_cpu;
  if (batch.result_words + more > words) return Placement::next_batch;
  return batch.add(query.lists) ? Placement::added : Placement::no_room;
}

std::size_t IntersectShare::add(gpu::IntersectBatch& batch, std::span<IntersectionQuery* const> queries,
                                Placement& end) const {
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

std::vector<std::vector<docid_t>> IntersectShare::land_windows(Flight& flight) {
  if (!flight.copies.finish()) throw GpuOutOfMemory("a window of documents found too little memory");
  gpu::WindowedAnswers answers = flight.runner.wait_for_windows();
  flight.windows.reset();
  counted_.device += answers.times;
  count_unpacked(answers.unpacked);
  return std::move(answers.documents);
}

void IntersectShare::land(unsigned number, std::span<IntersectionQuery* const> queries) {
  Flight& flight = flights_[number];
  std::vector<std::vector<docid_t>> of_windows;
  std::vector<std::span<const docid_t>> answers;
  if (!flight.places.empty()) {
    try {
      if (flight.windows) {
        of_windows = land_windows(flight);
        answers.assign(of_windows.begin(), of_windows.end());
      } else {
        answers = flight.runner.wait();
        counted_.device += flight.runner.times();
      }
    } catch (const GpuOutOfMemory&) {
      return answer_in_parts(number, queries);
    }
    release(number);
    if (store_) {
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
  flight.places.clear();
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
  flight.windows.reset();
  release(number);
  if (queries.size() == 1) return answer_on_cpu(*queries.front());
  growth_.too_many(queries.size());
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
  for (Flight& of : flights_) of.copies.forget();
  for (unsigned number = 0; number < flights_.size(); ++number) {
    flights_[number].runner.abandon();
    flights_[number].places.clear();
    flights_[number].windows.reset();
    if (store_) store_->release(number);
  }
  last_runner_ = nullptr;
  unpacked_.clear();
}

}  // namespace quern
