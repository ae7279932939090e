#include "quern/api/internal/document_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace quern::api {

bool DocumentStream::put(std::string&& piece) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return pieces_.size() < most_pieces || stopped_; });
  if (stopped_) return false;
  if (!piece.empty()) pieces_.push_back(std::move(piece));
  changed_.notify_all();
  return true;
}

void DocumentStream::finish() {
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void DocumentStream::fail(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  changed_.notify_all();
}

void DocumentStream::stop() noexcept {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

std::size_t DocumentStream::read(std::span<std::uint8_t> to) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !pieces_.empty() || finished_ || stopped_ || error_; });
  if (error_) std::rethrow_exception(error_);
  if (pieces_.empty() || stopped_) return 0;
  const std::string& piece = pieces_.front();
  const std::size_t size = std::min(to.size(), piece.size() - consumed_);
  std::memcpy(to.data(), piece.data() + consumed_, size);
  consumed_ += size;
  bytes_read_ += size;
  if (consumed_ == piece.size()) {
    pieces_.pop_front();
    consumed_ = 0;
    changed_.notify_all();
  }
  return size;
}

}  // namespace quern::api
