#include "quern/formats/corpus/record_finder.hpp"

namespace quern {

RecordFinder::Found RecordFinder::next(std::string_view window, std::uint64_t window_offset, bool last) {
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
        if (in_record_) return finish(window.size());
        return {Found::end, 0, 0, window.size(), 0, nullptr};
    }
  }
}

RecordFinder::Found RecordFinder::finish(std::size_t end) {
  const bool too_large = skipping_ || end - begin_ > max_record_bytes_;
  in_record_ = skipping_ = false;
  scanned_ = 0;
  if (too_large) {
    return {Found::bad, 0, 0, end, record_offset_, "a record is larger than --max-document allows"};
  }
  return {Found::record, begin_, end - begin_, end, record_offset_, nullptr};
}

RecordFinder::Found RecordFinder::wait(std::size_t window_size) {
  // A record within the limit ends, at the latest, so far before the window's end that the scan would have seen it.
  if (in_record_ && !skipping_ && window_size - begin_ > max_record_bytes_ + max_look_ahead_bytes) {
    skipping_ = true;
  }
  // One byte before the scan's place is kept to see whether a line begins there.
  const std::size_t consumed = in_record_ && !skipping_ ? begin_ : scanned_ - (scanned_ > 0 ? 1 : 0);
  begin_ -= skipping_ ? begin_ : consumed;
  scanned_ -= consumed;
  return {Found::need_more, 0, 0, consumed, 0, nullptr};
}

}  // namespace quern
