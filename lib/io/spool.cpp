#include "quern/io/spool.hpp"

namespace quern {

Spool::Spool(std::string tmp_folder, std::size_t buffer_bytes)
    : tmp_folder_(std::move(tmp_folder)), buffer_bytes_(buffer_bytes) {}

void Spool::append(ByteView bytes) {
  if (buffer_.size() + bytes.size() > buffer_bytes_) spill();
  if (bytes.size() > buffer_bytes_) {
    file_->write_at(spilled_, bytes);
    spilled_ += bytes.size();
    return;
  }
  if (buffer_.capacity() == 0) buffer_.reserve(buffer_bytes_);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void Spool::spill() {
  if (!file_) file_ = File::anonymous(tmp_folder_);
  file_->write_at(spilled_, buffer_);
  spilled_ += buffer_.size();
  buffer_.clear();
}

void Spool::read_at(std::uint64_t offset, std::span<std::uint8_t> to) const {
  if (offset < spilled_) {
    const auto from_file = to.first(std::min<std::uint64_t>(to.size(), spilled_ - offset));
    file_->read_at(offset, from_file);
    offset += from_file.size();
    to = to.subspan(from_file.size());
  }
  if (to.empty()) return;
  const std::uint64_t at = offset - spilled_;
  if (at > buffer_.size() || to.size() > buffer_.size() - at)
    throw CorruptFile("temporary file in " + tmp_folder_ + ": ends too early, at byte " + std::to_string(size()));
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(at), to.size(), to.begin());
}

void Spool::move_to(FileAppender& out) {
  for_each_piece([&](ByteView piece) { out.write(piece); });
  clear();
}

void Spool::clear() {
  buffer_.clear();
  spilled_ = 0;
}

SpoolReader::SpoolReader(const Spool& spool, std::uint64_t begin, std::uint64_t end, std::size_t buffer_bytes)
    : spool_(&spool), offset_(begin), end_(end), buffer_bytes_(buffer_bytes) {}

bool SpoolReader::fill(std::size_t bytes) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  const std::size_t kept = buffer_.size();
  const std::uint64_t wanted = std::max(buffer_bytes_, bytes) - kept;
  buffer_.resize(kept + std::min<std::uint64_t>(wanted, end_ - offset_));
  spool_->read_at(offset_, std::span(buffer_).subspan(kept));
  offset_ += buffer_.size() - kept;
  return buffer_.size() >= bytes;
}

void SpoolReader::fill_more() {
  if (!fill(1)) fail_at_end();
}

void SpoolReader::string(std::string& text) {
  const std::uint64_t size = varint();
  if (!have(size)) fail_at_end();
  text.assign(reinterpret_cast<const char*>(data()), size);
  skip(size);
}

void SpoolReader::fail_at_end() const {
  throw CorruptFile("temporary file: ends too early, at byte " + std::to_string(end_));
}

}  // namespace quern
