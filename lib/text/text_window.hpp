#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "quern/io/piece_source.hpp"

namespace quern {

/// The window of a stage on a text that comes in pieces: each piece, preceded by what the stage left of earlier ones.
class TextWindow {
 public:
  /// Calls read(std::string_view window), which returns how many bytes it consumed. Skips the call for small pieces
  /// while many bytes are left, so that time stays linear.
  template <class Read>
  void append(std::string_view piece, Read&& read) {
    if (left_.empty()) {
      left_ = piece.substr(read(piece));
    } else {
      left_ += piece;
      if (left_.size() < enough_) return;
      left_.erase(0, read(std::string_view(left_)));
    }
    enough_ = left_.size() + std::min(left_.size(), default_piece_bytes);
  }
  /// Shows the remaining bytes at the end of the text.
  template <class Read>
  void finish(Read&& read) {
    read(std::string_view(left_));
    left_.clear();
  }

 private:
  std::string left_;
  std::size_t enough_ = 0;  ///< minimum size of left_ for the next read
};

}  // namespace quern
