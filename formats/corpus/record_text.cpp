#include "quern/formats/corpus/record_text.hpp"

#include "quern/core/bytes.hpp"

namespace quern {

RecordText::RecordText(const Spool& spool, std::size_t piece_bytes)
    : spool_(&spool), piece_bytes_(piece_bytes), size_(spool.size()) {
  head_.resize(std::min<std::uint64_t>(size_, head_bytes));
  spool.read_at(0, {reinterpret_cast<std::uint8_t*>(head_.data()), head_.size()});
}

std::unique_ptr<PieceSource> RecordText::pieces(std::uint64_t begin, std::uint64_t end) const {
  begin = std::min(begin, end);
  if (spool_ != nullptr) return std::make_unique<SpoolPieces>(*spool_, begin, end, piece_bytes_);
  return std::make_unique<ViewPieces>(view_.substr(begin, end - begin));
}

std::uint64_t RecordText::trimmed_end(std::uint64_t begin, std::uint64_t end) const {
  std::array<char, 4096> buffer;
  while (end > begin) {
    const auto part = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), end - begin));
    read_at(end - part.size(), part);
    const auto blanks = std::find_if_not(part.rbegin(), part.rend(), is_ascii_space) - part.rbegin();
    end -= static_cast<std::uint64_t>(blanks);
    if (static_cast<std::size_t>(blanks) < part.size()) break;
  }
  return end;
}

void RecordText::read_at(std::uint64_t offset, std::span<char> to) const {
  if (spool_ != nullptr)
    spool_->read_at(offset, {reinterpret_cast<std::uint8_t*>(to.data()), to.size()});
  else
    std::copy_n(view_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
}

}  // namespace quern
