#include <algorithm>
#include <cstring>

#include "quern/gpu/device/in_parallel.hpp"
#include "quern/gpu/device/tuning.hpp"
#include "quern/gpu/store/word_mover.cuh"

namespace quern::gpu {
namespace {

/// What a warp reads before it writes.
constexpr unsigned lanes = 32, step_words = lanes * words_per_mover;
/// Thread blocks that move staged words, for which no kernel waits long.
constexpr std::size_t staged_blocks = 512;

/// Moves words to their places, a run per warp. All loads of a step are under way before its first word is stored:
/// words of the host's memory take microseconds.
__global__ void __launch_bounds__(moving_threads) move_words(const MovedWords* runs, unsigned count) {
  const unsigned lane = threadIdx.x % lanes, warps = gridDim.x * (moving_threads / lanes);
  unsigned i = blockIdx.x * (moving_threads / lanes) + threadIdx.x / lanes;
  MovedWords next;
  if (i < count) next = runs[i];
  while (i < count) {
    const MovedWords run = next;
    i += warps;
    if (i < count) next = runs[i];
    for (unsigned first = lane; first < run.words; first += step_words) {
      std::uint32_t held[words_per_mover];
#pragma unroll
      for (unsigned j = 0; j < words_per_mover; ++j)
        if (first + j * lanes < run.words) held[j] = run.from[first + j * lanes];
#pragma unroll
      for (unsigned j = 0; j < words_per_mover; ++j)
        if (first + j * lanes < run.words) run.to[first + j * lanes] = held[j];
    }
  }
}

}  // namespace

WordMover::WordMover(MemoryAccount& account, MemoryAccount& pinned, std::uint64_t piece_bytes) {
  const std::size_t words = piece_bytes / sizeof(std::uint32_t);
  max_runs_ = piece_bytes / sizeof(MovedWords) / 4;  // a quarter of the piece
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

void WordMover::add(const void* from, std::size_t bytes, std::uint32_t* to, const Event* places_free) {
  if (places_free != places_free_) send();
  places_free_ = places_free;
  while (bytes > 0) {
    if (filled_ && (runs_ == max_runs_ || end_ == words_in_piece())) send();
    if (!filled_) {
      filled_ = &next_piece();
      end_ = first_word();
    }
    std::size_t taken = std::min(bytes, bytes_of_run(reinterpret_cast<std::uintptr_t>(from)));
    MovedWords run{to, static_cast<const std::uint32_t*>(from), 0};
    const bool direct = is_pinned(from, taken);
    if (!direct) {
      taken = std::min(taken, (words_in_piece() - end_) * sizeof(std::uint32_t));
      run.from = filled_->device.data() + end_;
      staged_.push_back({from, taken, end_});
    }
    run.words = (taken + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
    (direct ? direct_words_ : end_) += run.words;
    reinterpret_cast<MovedWords*>(filled_->host.data())[runs_++] = run;
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
  copy_to_device(piece.device.data(), host, runs_ * sizeof(MovedWords) / sizeof(std::uint32_t), stream_);
  copy_to_device(piece.device.data() + first_word(), host + first_word(), end_ - first_word(), stream_);
  if (places_free_) CUDA_CHECK(cudaStreamWaitEvent(stream_, places_free_->handle()));
  const std::size_t blocks = direct_words_ > 0 ? blocks_of_movers : staged_blocks;
  move_words<<<static_cast<unsigned>(std::min(runs_, blocks)), moving_threads, 0, stream_>>>(
      reinterpret_cast<const MovedWords*>(piece.device.data()), static_cast<unsigned>(runs_));
  CUDA_CHECK(cudaGetLastError());
  piece.done.record(stream_);
  staged_bytes_ += sizeof(std::uint32_t) * (end_ - first_word());
  direct_bytes_ += sizeof(std::uint32_t) * direct_words_;
  filled_ = nullptr;
  runs_ = 0;
  direct_words_ = 0;
  staged_.clear();
}

void WordMover::move_parts(std::span<const WordPart> parts, std::uint64_t words, std::uint32_t* to,
                           const Event& places_free) {
  if (reads_directly()) {
    for (const WordPart& part : parts)
      if (!part.from.empty()) add(part.from.data(), part.from.size_bytes(), to + part.to, &places_free);
    return send();
  }
  CUDA_CHECK(cudaStreamWaitEvent(stream_, places_free.handle()));
  for (std::uint64_t from = 0; from < words; from += words_in_piece()) {
    const std::uint64_t size = std::min<std::uint64_t>(words_in_piece(), words - from);
    Piece& piece = next_piece();
    gather_words(parts, from, size, piece.host.data());
    copy_to_device(to + from, piece.host.data(), size, stream_);
    piece.done.record(stream_);
  }
  staged_bytes_ += sizeof(std::uint32_t) * words;
}

}  // namespace quern::gpu
