#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "quern/io/piece_source.hpp"

namespace quern {

/// The bytes of one record. A large one waits in a spool and is read in pieces, as memory must not grow with it.
class RecordText {
 public:
  /// Records of more than this wait in a spool.
  static constexpr std::size_t max_in_memory = std::size_t{1} << 20;
  /// Of a spooled record this much is in memory: what its format needs before the text (docno, URL, headers) lies
  /// there.
  static constexpr std::size_t head_bytes = 256 << 10;

  /// A record in memory, which must outlive this.
  template <std::convertible_to<std::string_view> Text>
  RecordText(const Text& whole) : view_(whole), size_(view_.size()) {}
  /// A spooled record; the spool must outlive this and stay as it is.
  explicit RecordText(const Spool& spool, std::size_t piece_bytes = default_piece_bytes);

  std::uint64_t size() const { return size_; }
  /// True if head() is the whole record.
  bool is_whole() const { return spool_ == nullptr; }
  /// The whole record, or its first head_bytes.
  std::string_view head() const { return spool_ == nullptr ? view_ : std::string_view(head_); }
  /// The bytes from `begin` on, or those before `end`. The source must not outlive this.
  std::unique_ptr<PieceSource> pieces(std::uint64_t begin = 0) const { return pieces(begin, size_); }
  std::unique_ptr<PieceSource> pieces(std::uint64_t begin, std::uint64_t end) const;
  /// Where the bytes from `begin` to `end` end without white space at their end.
  std::uint64_t trimmed_end(std::uint64_t begin, std::uint64_t end) const;
  /// Fills `to` with bytes from `offset` on, which must all be there.
  void read_at(std::uint64_t offset, std::span<char> to) const;

 private:
  std::string_view view_;
  const Spool* spool_ = nullptr;
  std::size_t piece_bytes_ = 0;  ///< of the spool's pieces, at most
  std::string head_;
  std::uint64_t size_;
};

}  // namespace quern
