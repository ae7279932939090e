#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "quern/io/piece_source.hpp"

namespace quern {

/// The window through which a stage sees a text that comes in pieces: each piece after what was left of those before.
class TextWindow {
 public:
  /// Shows the text as read(std::string_view window), which gives how much of it is done with. Not with each small
  /// piece while much is left, so that the time stays linear.
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
  /// Shows what is left at the end of the text.
  template <class Read>
  void finish(Read&& read) {
    read(std::string_view(left_));
    left_.clear();
  }

 private:
  std::string left_;
  std::size_t enough_ = 0;  ///< bytes that are worth another look
};

}  // namespace quern
