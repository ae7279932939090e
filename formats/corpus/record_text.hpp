#pragma once
#include <concepts>

#include "quern/io/piece_source.hpp"

namespace quern {

/// The bytes of one record. A large record is spooled and read in pieces, so memory doesn't grow with it.
class RecordText {
 public:
  /// Larger records are spooled.
  static constexpr std::size_t max_in_memory = std::size_t{1} << 20;
  /// A spooled record's first bytes, kept in memory: they must hold all that precedes the text (docno, URL, headers).
  static constexpr std::size_t head_bytes = 256 << 10;

  /// A record in memory; `text` must outlive this.
  template <std::convertible_to<std::string_view> Text>
  RecordText(const Text& whole) : view_(whole), size_(view_.size()) {}
  /// A spooled record; the spool must outlive this and not change.
  explicit RecordText(const Spool& spool, std::size_t piece_bytes = default_piece_bytes);

  std::uint64_t size() const { return size_; }
  /// True if head() is the whole record.
  bool is_whole() const { return spool_ == nullptr; }
  /// The whole record, or its first head_bytes.
  std::string_view head() const { return spool_ == nullptr ? view_ : std::string_view(head_); }
  /// The bytes from `begin`, or up to `end`. The source must not outlive this.
  std::unique_ptr<PieceSource> pieces(std::uint64_t begin = 0) const { return pieces(begin, size_); }
  std::unique_ptr<PieceSource> pieces(std::uint64_t begin, std::uint64_t end) const;
  /// The end of [begin, end) without trailing white space.
  std::uint64_t trimmed_end(std::uint64_t begin, std::uint64_t end) const;
  /// Fills `to` with the bytes from `offset`, which must exist.
  void read_at(std::uint64_t offset, std::span<char> to) const;

 private:
  std::string_view view_;
  const Spool* spool_ = nullptr;
  std::size_t piece_bytes_ = 0;  ///< limit of a spooled piece
  std::string head_;
  std::uint64_t size_;
};

}  // namespace quern
