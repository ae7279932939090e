#include "quern/formats/corpus/record_finder.hpp"

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

const char* too_large() {
  static const std::string reason = std::string("a record is larger than ") + option_name<"max-document"> + " allows";
  return reason.c_str();
}

}  // namespace

RecordFinder::Found RecordFinder::next(std::string_view window, std::uint64_t window_offset, bool last,
                                       LookAhead& ahead) {
  ahead_ = &ahead;
  window_offset_ = window_offset;
  for (;;) {
    const Step step = scan(window, scanned_, last);
    switch (step.event) {
      case Step::begins:
        in_record_ = true;
        begin_ = step.at;
        record_offset_ = window_offset + step.at;
        scanned_ = step.resume;
        break;
      case Step::ends:
        return finish(step.at);
      case Step::junk:
        scanned_ = step.resume;
        return {Found::bad, 0, 0, 0, window_offset + step.at, step.reason};
      case Step::ran_out:
        scanned_ = step.at;
        if (!last) return wait(window.size());
        if (in_record_) return finish(window.size(), !ends_with_file());
        return {Found::end, 0, 0, window.size(), 0, nullptr};
    }
  }
}

RecordFinder::Found RecordFinder::finish(std::uint64_t end, bool is_cut) {
  const bool is_too_large = skipping_ || window_offset_ + end - record_offset_ > limits_.max_record_bytes;
  in_record_ = skipping_ = false;
  scanned_ = 0;
  if (is_too_large) return {Found::bad, 0, 0, end, record_offset_, too_large()};
  return {Found::record, begin_, end - begin_, end, record_offset_, nullptr, is_cut};
}

RecordFinder::Found RecordFinder::wait(std::size_t window_size) {
  // Keep the byte before the scan position, to see whether a line begins there.
  const std::size_t searched = scanned_ - (scanned_ > 0 ? 1 : 0);
  // The scan would have found the end of a record within the limit: it lies far enough before the window's end.
  const bool becomes_too_large =
      in_record_ && !skipping_ && record_bytes_before(window_size) > limits_.max_record_bytes + max_look_ahead_bytes;
  skipping_ = skipping_ || becomes_too_large;
  Found found{becomes_too_large ? Found::too_large : Found::need_more, 0, 0, searched, 0, nullptr};
  if (in_record_ && !skipping_) {
    if (searched > begin_ && record_bytes_before(searched) > limits_.max_in_memory)
      found = {Found::part, begin_, searched - begin_, searched, 0, nullptr};
    else
      found.consumed = begin_;
  }
  begin_ -= std::min<std::size_t>(begin_, found.consumed);
  scanned_ -= found.consumed;
  return found;
}

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
