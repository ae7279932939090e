#pragma once
#include "quern/io/spool.hpp"

namespace quern {

/// The maximum size of pieces, for sources that choose it.
inline constexpr std::size_t default_piece_bytes = 256 << 10;

/// A text that may be larger than memory, read in consecutive pieces. Sources wrap each other: one reads a record, one
/// decompresses it, one converts its charset; each holds one piece at a time.
class PieceSource {
 public:
  virtual ~PieceSource() = default;
  /// The next piece, valid until the next call; empty only at the end. Pieces may end anywhere, even within a word, a
  /// tag or a character.
  virtual std::string_view next() = 0;
};

/// A text in memory as one piece. The text must outlive the source.
class ViewPieces final : public PieceSource {
 public:
  explicit ViewPieces(std::string_view text) : text_(text) {}
  std::string_view next() override { return std::exchange(text_, {}); }

 private:
  std::string_view text_;
};

/// A text in memory in pieces of at most `max_bytes` bytes. The text must outlive the source.
class SlicedPieces final : public PieceSource {
 public:
  explicit SlicedPieces(PieceSource& from, std::size_t max_bytes = default_piece_bytes)
      : from_(&from), max_bytes_(max_bytes) {}
  std::string_view next() override {
    if (rest_.empty()) rest_ = from_->next();
    const std::string_view piece = rest_.substr(0, max_bytes_);
    rest_.remove_prefix(piece.size());
    return piece;
  }

 private:
  PieceSource* from_;
  std::size_t max_bytes_;
  std::string_view rest_;
};

/// A source that allows one look at its start.
class PeekedPieces final : public PieceSource {
 public:
  explicit PeekedPieces(PieceSource& from) : from_(&from) {}
  /// At least `bytes` bytes of the text's start, or the whole text if it is shorter. Call at most once, before next().
  std::string_view peek(std::size_t bytes) {
    front_ = from_->next();
    if (front_.size() >= bytes) return front_;
    while (!front_.empty()) {
      joined_ += front_;
      if (joined_.size() >= bytes) break;
      front_ = from_->next();
    }
    return front_ = joined_;
  }
  std::string_view next() override { return front_.empty() ? from_->next() : std::exchange(front_, {}); }

 private:
  PieceSource* from_;
  std::string_view front_;
  std::string joined_;
};

/// A source transformed by a stage: Stage::append(std::string_view piece, std::string& out) appends the transformed
/// `piece` to `out`, and finish(std::string& out) appends what the stage held back. Both must outlive this source.
template <class Stage>
class ChangedPieces final : public PieceSource {
 public:
  ChangedPieces(PieceSource& from, Stage& stage, std::string& buffer)
      : from_(&from), stage_(&stage), buffer_(&buffer) {}
  std::string_view next() override {
    buffer_->clear();
    while (buffer_->empty() && !ended_) {
      const std::string_view piece = from_->next();
      ended_ = piece.empty();
      if (ended_)
        stage_->finish(*buffer_);
      else
        stage_->append(piece, *buffer_);
    }
    return *buffer_;
  }

 private:
  PieceSource* from_;
  Stage* stage_;
  std::string* buffer_;
  bool ended_ = false;
};

/// The bytes of a spool from `begin` to `end`. The spool must outlive the source and not change.
class SpoolPieces final : public PieceSource {
 public:
  explicit SpoolPieces(const Spool& spool, std::uint64_t begin = 0, std::size_t piece_bytes = default_piece_bytes)
      : SpoolPieces(spool, begin, spool.size(), piece_bytes) {}
  SpoolPieces(const Spool& spool, std::uint64_t begin, std::uint64_t end, std::size_t piece_bytes)
      : spool_(&spool), at_(begin), end_(end), piece_bytes_(piece_bytes) {}
  std::string_view next() override {
    piece_.resize(std::min<std::uint64_t>(piece_bytes_, end_ - at_));
    spool_->read_at(at_, piece_);
    at_ += piece_.size();
    return {reinterpret_cast<const char*>(piece_.data()), piece_.size()};
  }

 private:
  const Spool* spool_;
  std::uint64_t at_, end_;
  std::size_t piece_bytes_;
  Bytes piece_;
};

}  // namespace quern
