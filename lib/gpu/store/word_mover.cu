#include <unistd.h>

#include <numeric>

#include "quern/gpu/device/in_parallel.hpp"
#include "quern/gpu/store/word_mover.cuh"

namespace quern::gpu {
namespace {

/// Thread blocks that move staged words. They end soon, so that other kernels hardly wait for them.
constexpr std::size_t staged_blocks = 512;

__global__ void __launch_bounds__(moving_threads)
    run_moves(const MovedWords* items, unsigned count, unsigned* next_item) {
  move_words(items, count, next_item);
}

/// Bytes pinned per call, for which other threads' calls wait.
constexpr std::size_t bytes_at_once = 64 << 20;
constexpr unsigned how_registered = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;

/// The pages that lie completely within the words.
std::span<const std::byte> pages_of(std::span<const std::uint32_t> words) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(words.data());
  const std::uintptr_t first = (begin + page - 1) / page * page, last = (begin + words.size_bytes()) / page * page;
  if (first >= last) return {};
  return {reinterpret_cast<const std::byte*>(first), last - first};
}

int attribute(cudaDeviceAttr name) {
  int gpu = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&gpu));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, name, gpu));
  return value;
}

}  // namespace

WordMover::WordMover(MemoryAccount& account, MemoryAccount& pinned, std::uint64_t buffer_bytes) {
  // Threads load words by fours.
  const std::size_t words = buffer_bytes / sizeof(std::uint32_t) / words_per_load * words_per_load;
  // The table takes a quarter of the buffer. An odd number of items aligns the words after it for loads.
  max_items_ = std::max<std::size_t>(buffer_bytes / sizeof(MovedWords) / 4 / 2, 1) * 2 - 1;
  for (Buffer& buffer : buffers_) {
    buffer.host = PinnedArray<std::uint32_t>(pinned, MemoryUse::pinned, words);
    buffer.device = DeviceArray<std::uint32_t>(account, MemoryUse::staging, words);
  }
}

WordMover::Buffer& WordMover::next_buffer() {
  Buffer& buffer = buffers_[next_++ % buffers_.size()];
  buffer.done.wait();
  return buffer;
}

bool WordMover::is_pinned(const void* from, std::size_t bytes) const {
  return std::any_of(pinned_.begin(), pinned_.end(), [&](const auto& words) { return words->contain(from, bytes); });
}

void WordMover::add(const void* from, std::size_t bytes, std::uint32_t* to, const CudaEvent* places_free) {
  if (places_free != places_free_) send();
  places_free_ = places_free;
  while (bytes > 0) {
    if (filled_ && (num_items_ == max_items_ || end_ == words_in_buffer())) send();
    if (!filled_) {
      filled_ = &next_buffer();
      end_ = first_word();
    }
    std::size_t taken = MoveItems(reinterpret_cast<std::uintptr_t>(from), bytes)[0].bytes;
    MovedWords item{to, static_cast<const std::uint32_t*>(from), 0};
    const bool direct = is_pinned(from, taken);
    if (!direct) {
      taken = std::min(taken, (words_in_buffer() - end_) * sizeof(std::uint32_t));
      item.from = filled_->device.data() + end_;
      staged_.push_back({from, taken, end_});
    }
    item.words = (taken + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
    (direct ? direct_words_ : end_) += item.words;
    table_of(filled_->host)[num_items_++] = item;
    from = static_cast<const std::uint8_t*>(from) + taken;
    to += taken / sizeof(std::uint32_t);
    bytes -= taken;
  }
}

void WordMover::send() {
  if (!filled_) return;
  Buffer& buffer = *filled_;
  std::uint32_t* const host = buffer.host.data();
  in_parallel(staged_.size(),
              [&](std::size_t i) { std::memcpy(host + staged_[i].to, staged_[i].from, staged_[i].bytes); });
  const std::size_t end = (end_ + words_per_load - 1) / words_per_load * words_per_load;
  if (end > first_word())
    timed(
        [&] { copy_to_device(buffer.device.data() + first_word(), host + first_word(), end - first_word(), stream_); });
  if (places_free_) CUDA_CHECK(cudaStreamWaitEvent(stream_, places_free_->handle()));
  move(buffer, num_items_, direct_words_ > 0 ? blocks_of_movers : staged_blocks);
  staged_bytes_ += sizeof(std::uint32_t) * (end_ - first_word());
  direct_bytes_ += sizeof(std::uint32_t) * direct_words_;
  filled_ = nullptr;
  num_items_ = 0;
  direct_words_ = 0;
  staged_.clear();
}

void WordMover::move(Buffer& buffer, std::size_t items, std::size_t blocks) {
  std::uint32_t* const next_item = buffer.device.data();
  *buffer.host.data() = 0;
  copy_to_device(next_item, buffer.host.data(), (1 + items) * record_words, tables_);
  buffer.table_copied.record(tables_);
  CUDA_CHECK(cudaStreamWaitEvent(stream_, buffer.table_copied.handle()));
  timed([&] {
    launch(run_moves, static_cast<unsigned>(std::min(items, blocks)), moving_threads, 0, stream_,
           table_of(buffer.device), static_cast<unsigned>(items), next_item);
  });
  buffer.done.record(stream_);
}

void WordMover::write_table(std::span<const WordCopy> copies, std::size_t begin, std::size_t end, std::uint32_t* to,
                            MovedWords* table) const {
  const auto first = std::upper_bound(first_item_.begin(), first_item_.end(), begin) - 1,
             last = std::lower_bound(first_item_.begin(), first_item_.end(), end);
  const auto first_copy = static_cast<std::size_t>(first - first_item_.begin());
  in_parallel(static_cast<std::size_t>(last - first), [&](std::size_t i) {
    const WordCopy& copy = copies[first_copy + i];
    const MoveItems items(reinterpret_cast<std::uintptr_t>(copy.from.data()), copy.from.size_bytes());
    const std::size_t own = first_item_[first_copy + i];
    for (std::size_t item = std::max(own, begin); item < std::min(first_item_[first_copy + i + 1], end); ++item) {
      const std::size_t skipped = items[item - own].first / sizeof(std::uint32_t);
      table[item - begin] = {to + copy.to + skipped, copy.from.data() + skipped,
                             items[item - own].bytes / sizeof(std::uint32_t)};
    }
  });
}

void WordMover::move_pinned(std::span<const WordCopy> copies, std::uint64_t words, std::uint32_t* to,
                            const CudaEvent& places_free) {
  first_item_.assign(copies.size() + 1, 0);
  in_parallel(copies.size(), [&](std::size_t i) {
    const auto& from = copies[i].from;
    if (is_pinned(copies[i]))
      first_item_[i + 1] = MoveItems(reinterpret_cast<std::uintptr_t>(from.data()), from.size_bytes()).size();
  });
  std::partial_sum(first_item_.begin(), first_item_.end(), first_item_.begin());
  const std::size_t items = first_item_.back();
  CUDA_CHECK(cudaStreamWaitEvent(stream_, places_free.handle()));
  for (std::size_t begin = 0; begin < items; begin += items_in_buffer()) {
    const std::size_t end = std::min(items, begin + items_in_buffer());
    Buffer& buffer = next_buffer();
    write_table(copies, begin, end, to, table_of(buffer.host));
    move(buffer, end - begin, blocks_of_movers);
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto& from = copies[i].from;
    if (from.empty() || first_item_[i + 1] > first_item_[i]) continue;
    add(from.data(), from.size_bytes(), to + copies[i].to, &places_free);
    words -= from.size();
  }
  direct_bytes_ += sizeof(std::uint32_t) * words;
  send();
}

void WordMover::move_copies(std::span<const WordCopy> copies, std::uint64_t words, std::uint32_t* to,
                            const CudaEvent& places_free) {
  if (reads_directly()) return move_pinned(copies, words, to, places_free);
  CUDA_CHECK(cudaStreamWaitEvent(stream_, places_free.handle()));
  for (std::uint64_t from = 0; from < words; from += words_in_buffer()) {
    const std::uint64_t size = std::min<std::uint64_t>(words_in_buffer(), words - from);
    Buffer& buffer = next_buffer();
    gather_words(copies, from, size, buffer.host.data());
    timed([&] { copy_to_device(to + from, buffer.host.data(), size, stream_); });
    buffer.done.record(stream_);
  }
  staged_bytes_ += sizeof(std::uint32_t) * words;
}

std::shared_ptr<const PinnedWords> PinnedWords::pin(std::span<const std::uint32_t> mapped) {
  // Memory can be registered only once, but several GPUs and engines may read the same index.
  static std::mutex mutex;
  static std::map<const std::byte*, std::weak_ptr<const PinnedWords>> all;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& each) { return each.second.expired(); });
  const std::span<const std::byte> pages = pages_of(mapped);
  std::weak_ptr<const PinnedWords>& known = all[pages.data()];
  if (auto shared = known.lock(); shared && shared->pages_.size() == pages.size()) return shared;
  if (attribute(cudaDevAttrHostRegisterReadOnlySupported) == 0 ||
      attribute(cudaDevAttrCanUseHostPointerForRegisteredMem) == 0)
    return nullptr;
  const std::shared_ptr<PinnedWords> words(new PinnedWords(pages));
  if (!words->register_pages()) return nullptr;
  known = words;
  return words;
}

bool PinnedWords::register_pages() {
  while (registered_ < pages_.size()) {
    const std::size_t bytes = std::min(bytes_at_once, pages_.size() - registered_);
    if (cudaHostRegister(const_cast<std::byte*>(pages_.data()) + registered_, bytes, how_registered) != cudaSuccess) {
      cudaGetLastError();  // otherwise the next call would report the error again
      return false;
    }
    registered_ += bytes;
  }
  return true;
}

PinnedWords::~PinnedWords() {
  for (std::size_t at = 0; at < registered_; at += bytes_at_once)
    cudaHostUnregister(const_cast<std::byte*>(pages_.data()) + at);
  cudaGetLastError();
}

}  // namespace quern::gpu
