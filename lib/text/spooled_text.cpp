#include "quern/text/spooled_text.hpp"

namespace quern {
namespace {

/// Memory that is kept from one text to the next; more is freed.
constexpr std::size_t kept_text_bytes = std::size_t{1} << 20;

ByteView bytes_of(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

}  // namespace

void SpooledText::append_to_spool(std::string_view text) {
  if (text.empty()) return;
  if (!spool_) {
    spool_.emplace(tmp_folder_);
    spool_->append(bytes_of(memory_));
    std::string().swap(memory_);
  }
  spool_->append(bytes_of(text));
  spool_end_ = text.back();
}

void SpooledText::clear() {
  spool_.reset();
  memory_.clear();
  if (memory_.capacity() > kept_text_bytes) memory_.shrink_to_fit();
}

std::unique_ptr<PieceSource> SpooledText::pieces() const {
  if (spool_) return std::make_unique<SpoolPieces>(*spool_);
  return std::make_unique<ViewPieces>(memory_);
}

std::string SpooledText::str() const {
  std::string whole;
  const auto source = pieces();
  for (std::string_view piece = source->next(); !piece.empty(); piece = source->next()) whole += piece;
  return whole;
}

}  // namespace quern
