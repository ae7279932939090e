#pragma once
#include <string_view>

#include "quern/io/spool.hpp"

namespace quern {

/// A text that may be larger than memory, handed out piece by piece from front to back. Sources wrap each other: one
/// reads a record, one undoes its compression, one converts its characters, and each holds a piece at a time.
class PieceSource {
 public:
  virtual ~PieceSource() = default;
  /// The next piece, valid until the next call; empty at the end only. Where a piece ends means nothing: it may lie
  /// within a word, a tag or a character.
  virtual std::string_view next() = 0;
};

/// A text in memory, as one piece. The text must outlive the source.
class ViewPieces final : public PieceSource {
 public:
  explicit ViewPieces(std::string_view text) : text_(text) {}
  std::string_view next() override { return std::exchange(text_, {}); }

 private:
  std::string_view text_;
};

/// The bytes of a spool from `begin` on. The spool must outlive the source and stay as it is.
class SpoolPieces final : public PieceSource {
 public:
  static constexpr std::size_t default_piece_bytes = 256 << 10;

  explicit SpoolPieces(const Spool& spool, std::uint64_t begin = 0, std::size_t piece_bytes = default_piece_bytes)
      : spool_(&spool), at_(begin), piece_bytes_(piece_bytes) {}
  std::string_view next() override {
    piece_.resize(std::min<std::uint64_t>(piece_bytes_, spool_->size() - at_));
    spool_->read_at(at_, piece_);
    at_ += piece_.size();
    return {reinterpret_cast<const char*>(piece_.data()), piece_.size()};
  }

 private:
  const Spool* spool_;
  std::uint64_t at_;
  std::size_t piece_bytes_;
  Bytes piece_;
};

}  // namespace quern
