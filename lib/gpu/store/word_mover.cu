#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include "quern/gpu/device/device_memory.cuh"
#include "quern/gpu/device/in_parallel.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/word_mover.cuh"

namespace quern::gpu {
namespace {

/// Thread blocks that move staged words, for which no kernel waits long.
constexpr std::size_t staged_blocks = 512;

__global__ void __launch_bounds__(moving_threads)
    run_moves(const MovedWords* runs, unsigned count, unsigned* next_run) {
  move_words(runs, count, next_run);
}

}  // namespace

WordMover::WordMover(MemoryAccount& account, MemoryAccount& pinned, std::uint64_t piece_bytes) {
  // Threads load words by fours.
  const std::size_t words = piece_bytes / sizeof(std::uint32_t) / words_per_load * words_per_load;
  // A quarter of the piece; what follows is aligned for loads.
  max_runs_ = std::max<std::size_t>(piece_bytes / sizeof(MovedWords) / 4 / 2, 1) * 2 - 1;
  for (Piece& piece : pieces_) {
    piece.host = PinnedArray<std::uint32_t>(pinned, MemoryUse::pinned, words);
    piece.device = DeviceArray<std::uint32_t>(account, MemoryUse::staging, words);
  }
}

WordMover::Piece& WordMover::next_piece() {
  Piece& piece = pieces_[next_++ % pieces_.size()];
  piece.done.wait();
  return piece;
}

bool WordMover::is_pinned(const void* from, std::size_t bytes) const {
  return std::any_of(pinned_.begin(), pinned_.end(), [&](const auto& words) { return words->contain(from, bytes); });
}

void WordMover::add(const void* from, std::size_t bytes, std::uint32_t* to, const CudaEvent* places_free) {
  if (places_free != places_free_) send();
  places_free_ = places_free;
  while (bytes > 0) {
    if (filled_ && (runs_ == max_runs_ || end_ == words_in_piece())) send();
    if (!filled_) {
      filled_ = &next_piece();
      end_ = first_word();
    }
    std::size_t taken = WordRuns(reinterpret_cast<std::uintptr_t>(from), bytes)[0].bytes;
    MovedWords run{to, static_cast<const std::uint32_t*>(from), 0};
    const bool direct = is_pinned(from, taken);
    if (!direct) {
      taken = std::min(taken, (words_in_piece() - end_) * sizeof(std::uint32_t));
      run.from = filled_->device.data() + end_;
      staged_.push_back({from, taken, end_});
    }
    run.words = (taken + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
    (direct ? direct_words_ : end_) += run.words;
    table_of(filled_->host)[runs_++] = run;
    from = static_cast<const std::uint8_t*>(from) + taken;
    to += taken / sizeof(std::uint32_t);
    bytes -= taken;
  }
}

void WordMover::send() {
  if (!filled_) return;
  Piece& piece = *filled_;
  std::uint32_t* const host = piece.host.data();
  in_parallel(staged_.size(),
              [&](std::size_t i) { std::memcpy(host + staged_[i].to, staged_[i].from, staged_[i].bytes); });
  const std::size_t end = (end_ + words_per_load - 1) / words_per_load * words_per_load;
  if (end > first_word())
    timed(
        [&] { copy_to_device(piece.device.data() + first_word(), host + first_word(), end - first_word(), stream_); });
  if (places_free_) CUDA_CHECK(cudaStreamWaitEvent(stream_, places_free_->handle()));
  move(piece, runs_, direct_words_ > 0 ? blocks_of_movers : staged_blocks);
  staged_bytes_ += sizeof(std::uint32_t) * (end_ - first_word());
  direct_bytes_ += sizeof(std::uint32_t) * direct_words_;
  filled_ = nullptr;
  runs_ = 0;
  direct_words_ = 0;
  staged_.clear();
}

void WordMover::move(Piece& piece, std::size_t runs, std::size_t blocks) {
  std::uint32_t* const next_run = piece.device.data();
  *piece.host.data() = 0;
  copy_to_device(next_run, piece.host.data(), (1 + runs) * words_per_run, tables_);
  piece.table_copied.record(tables_);
  CUDA_CHECK(cudaStreamWaitEvent(stream_, piece.table_copied.handle()));
  timed([&] {
    run_moves<<<static_cast<unsigned>(std::min(runs, blocks)), moving_threads, 0, stream_>>>(
        table_of(piece.device), static_cast<unsigned>(runs), next_run);
  });
  CUDA_CHECK(cudaGetLastError());
  piece.done.record(stream_);
}

void WordMover::write_table(std::span<const WordPart> parts, std::size_t begin, std::size_t end, std::uint32_t* to,
                            MovedWords* table) const {
  const auto first = std::upper_bound(first_run_.begin(), first_run_.end(), begin) - 1,
             last = std::lower_bound(first_run_.begin(), first_run_.end(), end);
  const auto first_part = static_cast<std::size_t>(first - first_run_.begin());
  in_parallel(static_cast<std::size_t>(last - first), [&](std::size_t i) {
    const WordPart& part = parts[first_part + i];
    const WordRuns runs(reinterpret_cast<std::uintptr_t>(part.from.data()), part.from.size_bytes());
    const std::size_t own = first_run_[first_part + i];
    for (std::size_t run = std::max(own, begin); run < std::min(first_run_[first_part + i + 1], end); ++run) {
      const std::size_t skipped = runs[run - own].first / sizeof(std::uint32_t);
      table[run - begin] = {to + part.to + skipped, part.from.data() + skipped,
                            runs[run - own].bytes / sizeof(std::uint32_t)};
    }
  });
}

void WordMover::move_pinned(std::span<const WordPart> parts, std::uint64_t words, std::uint32_t* to,
                            const CudaEvent& places_free) {
  first_run_.assign(parts.size() + 1, 0);
  in_parallel(parts.size(), [&](std::size_t i) {
    const auto& from = parts[i].from;
    if (is_pinned(parts[i]))
      first_run_[i + 1] = WordRuns(reinterpret_cast<std::uintptr_t>(from.data()), from.size_bytes()).size();
  });
  std::partial_sum(first_run_.begin(), first_run_.end(), first_run_.begin());
  const std::size_t runs = first_run_.back();
  CUDA_CHECK(cudaStreamWaitEvent(stream_, places_free.handle()));
  for (std::size_t begin = 0; begin < runs; begin += runs_in_piece()) {
    const std::size_t end = std::min(runs, begin + runs_in_piece());
    Piece& piece = next_piece();
    write_table(parts, begin, end, to, table_of(piece.host));
    move(piece, end - begin, blocks_of_movers);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& from = parts[i].from;
    if (from.empty() || first_run_[i + 1] > first_run_[i]) continue;
    add(from.data(), from.size_bytes(), to + parts[i].to, &places_free);
    words -= from.size();
  }
  direct_bytes_ += sizeof(std::uint32_t) * words;
  send();
}

void WordMover::move_parts(std::span<const WordPart> parts, std::uint64_t words, std::uint32_t* to,
                           const CudaEvent& places_free) {
  if (reads_directly()) return move_pinned(parts, words, to, places_free);
  CUDA_CHECK(cudaStreamWaitEvent(stream_, places_free.handle()));
  for (std::uint64_t from = 0; from < words; from += words_in_piece()) {
    const std::uint64_t size = std::min<std::uint64_t>(words_in_piece(), words - from);
    Piece& piece = next_piece();
    gather_words(parts, from, size, piece.host.data());
    timed([&] { copy_to_device(to + from, piece.host.data(), size, stream_); });
    piece.done.record(stream_);
  }
  staged_bytes_ += sizeof(std::uint32_t) * words;
}

namespace {

/// What one call pins. Other threads' calls wait meanwhile.
constexpr std::size_t bytes_at_once = 64 << 20;
constexpr unsigned how_registered = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;

/// The whole pages within the words.
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

bool can_read_mapped_files() {
  return attribute(cudaDevAttrHostRegisterReadOnlySupported) != 0 &&
         attribute(cudaDevAttrCanUseHostPointerForRegisteredMem) != 0;
}

}  // namespace

std::shared_ptr<const PinnedWords> PinnedWords::pin(std::span<const std::uint32_t> mapped) {
  // Memory can be registered only once, but several GPUs and engines may read the same index.
  static std::mutex mutex;
  static std::map<const std::byte*, std::weak_ptr<const PinnedWords>> all;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& each) { return each.second.expired(); });
  const std::span<const std::byte> pages = pages_of(mapped);
  std::weak_ptr<const PinnedWords>& known = all[pages.data()];
  if (auto shared = known.lock(); shared && shared->pages_.size() == pages.size()) return shared;
  if (!can_read_mapped_files()) return nullptr;
  const std::shared_ptr<PinnedWords> words(new PinnedWords(pages));
  if (!words->register_pages()) return nullptr;
  known = words;
  return words;
}

bool PinnedWords::register_pages() {
  while (registered_ < pages_.size()) {
    const std::size_t bytes = std::min(bytes_at_once, pages_.size() - registered_);
    if (cudaHostRegister(const_cast<std::byte*>(pages_.data()) + registered_, bytes, how_registered) != cudaSuccess) {
      cudaGetLastError();  // clears the error, which the next call would report again
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
