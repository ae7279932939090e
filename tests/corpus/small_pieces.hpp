#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "quern/io/piece_source.hpp"

namespace quern::testing {

/// A text in pieces of limited size, each in an allocation of its own until the next: sanitizers detect reads of stale
/// pieces.
class SmallPieces final : public PieceSource {
 public:
  SmallPieces(std::string_view text, std::size_t piece_bytes) : text_(text), piece_bytes_(piece_bytes) {}
  std::string_view next() override {
    piece_ = std::string(text_.substr(0, piece_bytes_));
    text_.remove_prefix(piece_.size());
    return piece_;
  }

 private:
  std::string_view text_;
  std::size_t piece_bytes_;
  std::string piece_;
};

/// The rest of a source.
inline std::string rest_of(PieceSource& pieces) {
  std::string text;
  for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) text += piece;
  return text;
}

}  // namespace quern::testing
