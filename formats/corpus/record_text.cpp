#include "quern/formats/corpus/record_text.hpp"

#include <algorithm>

namespace quern {

RecordText::RecordText(const Spool& spool) : spool_(&spool), size_(spool.size()) {
  head_.resize(std::min<std::uint64_t>(size_, head_bytes));
  spool.read_at(0, {reinterpret_cast<std::uint8_t*>(head_.data()), head_.size()});
}

std::unique_ptr<PieceSource> RecordText::pieces(std::uint64_t offset) const {
  if (spool_ != nullptr) return std::make_unique<SpoolPieces>(*spool_, offset);
  return std::make_unique<ViewPieces>(view_.substr(std::min<std::uint64_t>(offset, view_.size())));
}

}  // namespace quern
