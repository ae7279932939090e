#include <algorithm>
#include <cstring>
#include <string>

#include "quern/core/size_text.hpp"
#include "quern/gpu/device/device_index_view.cuh"
#include "quern/gpu/device/in_parallel.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/list_store_device.cuh"

namespace quern::gpu {
namespace {

/// Words that a thread block moves at a time.
constexpr std::size_t run_words = 4096;
/// Zeros behind the arena: a damaged block may claim to be longer than it is by this.
constexpr std::size_t over_read_words = 4096;

/// Moves words from a piece to their places.
__global__ void scatter_words(const StagedWords* runs, unsigned count, const std::uint32_t* words) {
  for (unsigned i = blockIdx.x; i < count; i += gridDim.x) {
    const StagedWords run = runs[i];
    for (unsigned word = threadIdx.x; word < run.words; word += blockDim.x) run.to[word] = words[run.from + word];
  }
}

ListCacheOptions cache_options(const DeviceIndex& index, const GpuMemoryOptions& memory) {
  ListCacheOptions options{arenas_of(index.division())};
  options.with_impacts = index.device().quantized;
  options.retention = memory.retention;
  options.block_size = index.index().block_size();
  return options;
}

}  // namespace

ListStore::ListStore(const DeviceIndex& index, const GpuMemoryOptions& memory, Progress& progress)
    : index_(index), cache_(cache_options(index, memory)), device_(std::make_unique<Device>()) {
  CUDA_CHECK(cudaSetDevice(static_cast<int>(index.gpu())));
  Device& device = *device_;
  MemoryAccount& account = index.account();
  const ListCacheOptions options = cache_options(index, memory);
  device.words = DeviceArray<std::uint32_t>(account, MemoryUse::lists, options.words + over_read_words);
  // Not only behind the arena: what follows a block in it is read, too, if only to be dropped.
  fill_zero(device.words.data(), options.words + over_read_words, device.stream);
  if (options.rows > 0) {
    device.block_last = DeviceArray<std::uint32_t>(account, MemoryUse::rows, options.rows);
    device.block_offset = DeviceArray<std::uint32_t>(account, MemoryUse::rows, options.rows);
    device.block_max = DeviceArray<std::uint16_t>(account, MemoryUse::rows, options.rows);
  }
  device.piece_words = index.division().staging / sizeof(std::uint32_t);
  device.max_runs = device.piece_words / 64;  // a sixteenth of the piece
  for (Device::Piece& piece : device.pieces) {
    piece.host = PinnedArray<std::uint32_t>(index.pinned(), MemoryUse::pinned, device.piece_words);
    piece.device = DeviceArray<std::uint32_t>(account, MemoryUse::staging, device.piece_words);
  }
  if (memory.plan != nullptr) keep_plan(*memory.plan, progress);
  device.stream.wait();
}

ListStore::ListStore(ListStore&&) noexcept = default;
ListStore::~ListStore() = default;

void ListStore::keep_plan(const CachePlan& plan, Progress& progress) {
  const IndexReader& index = index_.index();
  const std::uint64_t ratio = plan.manifest.block / index.block_size();
  progress.start("load the plan", plan.lists.size(), "lists");
  std::uint64_t left_out = 0;
  constexpr std::size_t lists_at_once = 4096;
  for (std::size_t from = 0; from < plan.lists.size(); from += lists_at_once) {
    std::vector<PostingList> lists;  // as long as their rows are to be copied
    lists.reserve(lists_at_once);
    ListCopies copies;
    for (std::size_t i = from; i < std::min(from + lists_at_once, plan.lists.size()); ++i) {
      const PostingList& list = lists.emplace_back(index.list(plan.lists[i].term));
      if (!is_kept(list)) continue;  // in plans of version 1
      if (!cache_.keep_front(list, plan.lists[i].blocks * ratio, copies)) ++left_out;
    }
    device_->copy(copies);
    progress.add(lists.size());
  }
  progress.finish();
  if (left_out > 0)
    progress.warn(std::to_string(left_out) + " of the plan's " + std::to_string(plan.lists.size()) +
                  " lists do not fit into the " +
                  size_text(arenas_of(index_.division()).for_fronts().words * sizeof(std::uint32_t)) +
                  " that a plan may take of the GPU's memory; plan for it with quern plan --gpu-memory");
}

void ListStore::Device::set(IndexView& view) const {
  view.postings = view.impacts = words.data();
  if (block_last.size() == 0) return;
  view.block_last = block_last.data();
  view.block_offset = block_offset.data();
  view.block_max = block_max.data();
}

void ListStore::Device::make_wait(const Stream& waiting) const {
  // A list that is there already may still be on its way for another batch.
  CUDA_CHECK(cudaStreamWaitEvent(waiting, all_copied.handle()));
}

void ListStore::Device::copy(const ListCopies& copies) {
  std::vector<Run> runs;
  for (const WordCopy& copy : copies.words)
    runs.push_back({copy.from.data(), copy.from.size_bytes(), words.data() + copy.to});
  for (const RowCopy& copy : copies.rows) {
    const PostingList& list = *copy.list;
    runs.push_back({list.block_last.data(), list.block_last.size_bytes(), block_last.data() + copy.to});
    runs.push_back({list.block_offset.data(), list.block_offset.size_bytes(), block_offset.data() + copy.to});
    runs.push_back({list.block_max.data(), list.block_max.size_bytes(),
                    reinterpret_cast<std::uint32_t*>(block_max.data() + copy.to)});
  }
  copy_runs(std::move(runs));
}

void ListStore::Device::copy_runs(std::vector<Run> runs) {
  std::vector<Run> piece;
  std::size_t words_in_piece = 0;
  const std::size_t max_words = piece_words - first_word();
  const auto send = [&] {
    if (!piece.empty()) send_piece(piece);
    piece.clear();
    words_in_piece = 0;
  };
  for (Run& run : runs) {
    while (run.bytes > 0) {
      if (piece.size() == max_runs || words_in_piece == max_words) send();
      const std::size_t bytes = std::min({run.bytes, run_words * 4, (max_words - words_in_piece) * 4});
      piece.push_back({run.from, bytes, run.to});
      words_in_piece += (bytes + 3) / 4;
      run.from = static_cast<const std::uint8_t*>(run.from) + bytes;
      run.to += bytes / 4;
      run.bytes -= bytes;
    }
  }
  send();
}

void ListStore::Device::send_piece(std::span<const Run> runs) {
  Piece& piece = pieces[next_piece++ % pieces.size()];
  piece.done.wait();
  auto* table = reinterpret_cast<StagedWords*>(piece.host.data());
  std::uint32_t end = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto words_of_run = static_cast<std::uint32_t>((runs[i].bytes + 3) / 4);
    table[i] = {runs[i].to, end, words_of_run};
    end += words_of_run;
  }
  std::uint32_t* to = piece.host.data() + first_word();
  in_parallel(runs.size(), [&](std::size_t i) { std::memcpy(to + table[i].from, runs[i].from, runs[i].bytes); });
  copy_to_device(piece.device.data(), piece.host.data(), runs.size() * sizeof(StagedWords) / 4, stream);
  copy_to_device(piece.device.data() + first_word(), to, end, stream);
  scatter_words<<<static_cast<unsigned>(std::min<std::size_t>(runs.size(), 512)), plain_threads, 0, stream>>>(
      reinterpret_cast<const StagedWords*>(piece.device.data()), static_cast<unsigned>(runs.size()),
      piece.device.data() + first_word());
  CUDA_CHECK(cudaGetLastError());
  piece.done.record(stream);
}

void ListStore::Device::copy_window(std::span<const WordPart> parts, std::uint64_t count, const Half& half) {
  CUDA_CHECK(cudaStreamWaitEvent(stream, half.done.handle()));
  for (std::uint64_t from = 0; from < count; from += piece_words) {
    const std::uint64_t size = std::min<std::uint64_t>(piece_words, count - from);
    Piece& piece = pieces[next_piece++ % pieces.size()];
    piece.done.wait();
    gather_words(parts, from, size, piece.host.data());
    copy_to_device(words.data() + half.first_word + from, piece.host.data(), size, stream);
    piece.done.record(stream);
  }
  half.copied.record(stream);
}

void ListStore::Device::begin_copies(unsigned flight) {
  flights.at(flight).copies = true;
  flights.at(flight).begun.record(stream);
}

void ListStore::Device::end_copies(unsigned flight) {
  flights.at(flight).copied.record(stream);
  all_copied.record(stream);
}

bool ListStore::open_windows(unsigned flight) {
  if (!room_) {
    room_ = cache_.take_room();
    if (!room_) return false;
    for (std::size_t i = 0; i < device_->halves.size(); ++i)
      device_->halves[i].first_word = room_->first + i * (room_->words / 2);
  }
  has_windows_.at(flight) = true;
  return true;
}

bool ListStore::acquire(unsigned flight, std::span<const WantedList> lists) {
  if (room_) {
    if (std::find(has_windows_.begin(), has_windows_.end(), true) != has_windows_.end()) return false;
    cache_.give_back_room(*room_);
    room_.reset();
  }
  // Another GPU may be the thread's current one.
  CUDA_CHECK(cudaSetDevice(static_cast<int>(index_.gpu())));
  Device::Flight& of = device_->flights.at(flight);
  ListCopies copies;
  if (!cache_.acquire(flight, lists, copies)) return false;
  of.copies = !copies.words.empty() || !copies.rows.empty();
  if (!of.copies) return true;
  device_->begin_copies(flight);
  device_->copy(copies);
  device_->end_copies(flight);
  return true;
}

void ListStore::release(unsigned flight) {
  cache_.release(flight);
  has_windows_.at(flight) = false;
}

double ListStore::copy_us(unsigned flight) const {
  const Device::Flight& of = device_->flights.at(flight);
  return of.copies ? of.copied.us_since(of.begun) : 0;
}

}  // namespace quern::gpu
