#include "quern/corpus/chunk_stream.hpp"

#include <algorithm>
#include <string_view>

#include "quern/core/bytes.hpp"
#include "quern/io/piece_source.hpp"

namespace quern {

ChunkStream::ChunkStream(const CorpusFiles& files, std::uint64_t max_window_bytes, Damage damage)
    : files_(files), max_window_bytes_(max_window_bytes), damage_(damage), used_(max_ready), thread_([this] {
        run();
      }) {}

ChunkStream::~ChunkStream() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  interrupt_.stop();
  files_.stop();
  thread_.join();
}

bool ChunkStream::next(Chunk& chunk) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || done_; });
  if (ready_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return false;
  }
  std::swap(chunk, ready_.front());
  used_.push_back(std::move(ready_.front()));
  ready_.erase(ready_.begin());
  lock.unlock();
  changed_.notify_all();
  return true;
}

void ChunkStream::run() {
  std::exception_ptr failure;
  try {
    for (std::uint32_t file = 0; file < files_.size(); ++file) read_file(file);
  } catch (...) {
    failure = std::current_exception();
  }
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = true;
    failure_ = failure;
  }
  changed_.notify_all();
}

void ChunkStream::read_file(std::uint32_t file) {
  const std::shared_ptr<DamageSkippingSource> skipping =
      damage_ == Damage::skip ? files_.open_skipping_damage(file, interrupt_, max_window_bytes_) : nullptr;
  const std::shared_ptr<ByteSource> source = skipping ? skipping : files_.open(file, interrupt_, max_window_bytes_);
  std::uint64_t compressed_bytes = 0;
  Chunk chunk;
  do {
    chunk.bytes.resize(chunk_bytes);
    const std::span<std::uint8_t> room(reinterpret_cast<std::uint8_t*>(chunk.bytes.data()), chunk_bytes);
    const std::size_t size = read_fully(*source, room);
    chunk.bytes.resize(size);
    chunk.file = file;
    chunk.damage = skipping && size < chunk_bytes ? skipping->take_damage() : std::nullopt;
    chunk.last_of_file = size < chunk_bytes && !chunk.damage;
    chunk.compressed_bytes = source->compressed_bytes_read() - compressed_bytes;
    compressed_bytes = source->compressed_bytes_read();
    // Read last_of_file first: put() swaps the chunk.
    if (const bool last = chunk.last_of_file; !put(chunk) || last) return;
  } while (true);
}

bool ChunkStream::put(Chunk& chunk) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return !used_.empty() || stopped_; });
  if (stopped_) return false;
  ready_.push_back(std::move(chunk));
  chunk = std::move(used_.back());
  used_.pop_back();
  lock.unlock();
  changed_.notify_all();
  return true;
}

namespace {

/// Consumed bytes stay in the work file until there are this many, and more than unread ones.
constexpr std::uint64_t min_rewritten_bytes = std::uint64_t{64} << 20;

}  // namespace

FileBytes::FileBytes(const CorpusFiles& files, std::uint64_t max_window_bytes, Damage damage, std::string tmp_folder)
    : tmp_folder_(std::move(tmp_folder)), chunks_(files, max_window_bytes, damage), waiting_(tmp_folder_) {}

bool FileBytes::next(std::string& window) {
  if (waiting_bytes() == 0) {
    if (!read_chunk()) return false;
    window.append(chunk_.bytes);
    return true;
  }
  const std::uint64_t size = std::min<std::uint64_t>(waiting_bytes(), ChunkStream::chunk_bytes);
  const std::size_t before = window.size();
  window.resize(before + size);
  waiting_.read_at(waiting_begin_, {reinterpret_cast<std::uint8_t*>(window.data()) + before, size});
  drop_waiting(size);
  return true;
}

std::string FileBytes::peek(std::uint64_t distance, std::size_t size) {
  while (waiting_bytes() < distance + size && !segment_is_seen() && read_chunk())
    waiting_.append(as_bytes(chunk_.bytes));
  std::string bytes(std::min<std::uint64_t>(size, waiting_bytes() - std::min(waiting_bytes(), distance)), '\0');
  waiting_.read_at(waiting_begin_ + distance, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
  return bytes;
}

void FileBytes::move_to(Spool& to, std::uint64_t size) {
  Bytes piece;
  while (size > 0) {
    piece.resize(std::min<std::uint64_t>(size, ChunkStream::chunk_bytes));
    waiting_.read_at(waiting_begin_, piece);
    to.append(piece);
    drop_waiting(piece.size());
    size -= piece.size();
  }
}

bool FileBytes::read_chunk() {
  if (!chunks_.next(chunk_)) return false;
  compressed_bytes_ += chunk_.compressed_bytes;
  return true;
}

void FileBytes::drop_waiting(std::uint64_t size) {
  waiting_begin_ += size;
  if (waiting_bytes() == 0) {
    waiting_.clear();
    waiting_begin_ = 0;
  } else if (waiting_begin_ > std::max(min_rewritten_bytes, waiting_bytes())) {
    Spool rest(tmp_folder_);
    SpoolPieces pieces(waiting_, waiting_begin_);
    for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) rest.append(as_bytes(piece));
    waiting_ = std::move(rest);
    waiting_begin_ = 0;
  }
}

}  // namespace quern
