#include "quern/corpus/file_bytes.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "quern/core/bytes.hpp"
#include "quern/io/piece_source.hpp"

namespace quern {
namespace {

/// Bytes that were handed out stay in the work file until they are so many, and more than those that wait.
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
  while (waiting_bytes() < distance + size && !segment_is_seen() && read_chunk()) {
    waiting_.append(as_bytes(chunk_.bytes));
  }
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
