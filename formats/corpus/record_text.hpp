#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
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
  explicit RecordText(const Spool& spool, std::size_t piece_bytes = SpoolPieces::default_piece_bytes);

  std::uint64_t size() const { return size_; }
  /// True if head() is the whole record.
  bool is_whole() const { return spool_ == nullptr; }
  /// The whole record, or its first head_bytes.
  std::string_view head() const { return spool_ == nullptr ? view_ : std::string_view(head_); }
  /// The bytes from `offset` on. The source must not outlive this.
  std::unique_ptr<PieceSource> pieces(std::uint64_t offset = 0) const;

 private:
  std::string_view view_;
  const Spool* spool_ = nullptr;
  std::size_t piece_bytes_ = 0;  ///< of the spool's pieces, at most
  std::string head_;
  std::uint64_t size_;
};

}  // namespace quern
