#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "quern/io/piece_source.hpp"
#include "quern/io/spool.hpp"

namespace quern {

/// A text that is appended to once and read from front to back. It lies in memory while it is small, and in a work file
/// once it is not. Throws IoError if the work file can't be created, written or read.
class SpooledText {
 public:
  /// Texts of more bytes than this go to a work file.
  static constexpr std::size_t default_memory_bytes = std::size_t{4} << 20;

  explicit SpooledText(std::string tmp_folder = ".", std::size_t memory_bytes = default_memory_bytes)
      : tmp_folder_(std::move(tmp_folder)), memory_bytes_(memory_bytes) {}

  void append(std::string_view text) {
    if (spool_ || text.size() > memory_bytes_ - memory_.size()) {
      append_to_spool(text);
    } else {
      memory_.append(text);
    }
  }
  SpooledText& operator+=(std::string_view text) {
    append(text);
    return *this;
  }
  SpooledText& operator+=(char c) { return *this += std::string_view(&c, 1); }

  std::uint64_t size() const { return spool_ ? spool_->size() : memory_.size(); }
  bool empty() const { return size() == 0; }
  /// The last byte; the text must not be empty.
  char back() const { return spool_ ? spool_end_ : memory_.back(); }
  /// Empties the text. Memory is kept for the next one, but not much more than most texts need.
  void clear();

  /// The text from its front. The text must outlive the source and stay as it is.
  std::unique_ptr<PieceSource> pieces() const;
  /// The whole text, in memory.
  std::string str() const;

 private:
  void append_to_spool(std::string_view text);

  std::string tmp_folder_;
  std::size_t memory_bytes_;
  std::string memory_;          ///< the text, where there is no spool
  std::optional<Spool> spool_;  ///< the text, where it is too large for memory
  char spool_end_ = '\0';       ///< the spool's last byte
};

}  // namespace quern
