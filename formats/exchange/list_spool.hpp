#pragma once
#include <algorithm>
#include <optional>
#include <string>

#include "quern/core/bytes.hpp"
#include "quern/io/file.hpp"

namespace quern {

/// Holds the bytes of one list until its length is known, which forms put in front of it: in memory, and a list too
/// long for that in a work file.
class ListSpool {
 public:
  explicit ListSpool(std::string tmp_folder) : tmp_folder_(std::move(tmp_folder)) {}

  /// Where the next bytes are to be appended; call settle() every now and then.
  Bytes& bytes() { return bytes_; }
  void settle() {
    if (bytes_.size() >= piece_bytes) spill();
  }
  std::uint64_t size() const { return spilled_ + bytes_.size(); }
  /// Appends all to `out`, and empties the spool.
  void move_to(FileAppender& out) {
    Bytes piece;
    for (std::uint64_t at = 0; at < spilled_; at += piece.size()) {
      piece.resize(std::min<std::uint64_t>(piece_bytes, spilled_ - at));
      file_->read_at(at, piece);
      out.write(piece);
    }
    out.write(bytes_);
    bytes_.clear();
    spilled_ = 0;
  }

 private:
  static constexpr std::size_t piece_bytes = 4 << 20;

  void spill() {
    if (!file_) file_ = File::anonymous(tmp_folder_);
    file_->write_at(spilled_, bytes_);
    spilled_ += bytes_.size();
    bytes_.clear();
  }

  std::string tmp_folder_;
  Bytes bytes_;
  std::optional<File> file_;
  std::uint64_t spilled_ = 0;
};

}  // namespace quern
