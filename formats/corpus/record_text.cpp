#include "quern/formats/corpus/record_text.hpp"

#include <algorithm>

namespace quern {

RecordText::RecordText(const Spool& spool, std::size_t piece_bytes)
    : spool_(&spool), piece_bytes_(piece_bytes), size_(spool.size()) {
  head_.resize(std::min<std::uint64_t>(size_, head_bytes));
  spool.read_at(0, {reinterpret_cast<std::uint8_t*>(head_.data()), head_.size()});
}

std::unique_ptr<PieceSource> RecordText::pieces(std::uint64_t offset) const {
  if (spool_ != nullptr) return std::make_unique<SpoolPieces>(*spool_, offset, piece_bytes_);
  return std::make_unique<ViewPieces>(view_.substr(std::min<std::uint64_t>(offset, view_.size())));
}

}  // namespace quern
