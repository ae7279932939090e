#include "quern/query/list_window.hpp"

#include <algorithm>

namespace quern {

ListWindow::ListWindow(const ScoringContext& context, const WeightedList& list)
    : reader_(*context.index, list.list, context.statistics),
      statistics_(context.statistics),
      constants_(context.constants),
      weight_(list.weight),
      bounds_hold_(context.bounds_hold),
      next_(reader_.docids()[0]) {
  if (list.list.is_short()) {
    compute_parts();
    max_part_ = *std::max_element(parts_.begin(), parts_.begin() + reader_.size());
  } else {
    // No impact is greater than 1, whatever k1 and b are.
    max_part_ = weight_ * (bounds_hold_ ? list.list.max_impact : 1.0f);
  }
}

float ListWindow::bound(docid_t begin, docid_t end) {
  if (next_ >= end) return 0;
  const auto last = reader_.list().block_last;
  if (last.empty() || !bounds_hold_) return max_part_;
  while (bound_block_ < last.size() && last[bound_block_] < begin) ++bound_block_;
  if (bound_block_ == last.size() || (bound_block_ > 0 && last[bound_block_ - 1] + 1 >= end)) return 0;
  std::uint16_t greatest = 0;
  for (std::size_t block = bound_block_; block < last.size(); ++block) {
    greatest = std::max(greatest, reader_.list().block_max[block]);
    if (last[block] + 1 >= end) break;
  }
  return weight_ * dequantize_up(greatest);
}

void ListWindow::compute_parts() {
  const auto docids = reader_.docids();
  const auto freqs = reader_.freqs();
  for (std::size_t i = 0; i < docids.size(); ++i) parts_[i] = weight_ * impact(freqs[i], constants_[docids[i]]);
  has_parts_ = true;
  statistics_->postings_scored += docids.size();
}

void ListWindow::pass_block() {
  const bool more = block_ + 1 < reader_.num_blocks();
  next_ = more ? reader_.last(block_) + 1 : end_docid;
  ++block_;
  entered_ = false;
}

bool ListWindow::seek(docid_t docid) {
  if (next_ == end_docid) return false;
  if (reader_.last(block_) < docid) {
    const auto last = reader_.list().block_last;
    if (last.empty()) {
      next_ = end_docid;
      return false;
    }
    const auto found = std::lower_bound(last.begin() + static_cast<std::ptrdiff_t>(block_) + 1, last.end(), docid);
    block_ = static_cast<std::size_t>(found - last.begin());
    entered_ = false;
    if (found == last.end()) {
      next_ = end_docid;
      return false;
    }
  }
  if (!entered_) {
    reader_.load(block_);
    entered_ = true;
    has_parts_ = false;
    freqs_read_ = 0;
    place_ = 0;
  }
  const auto docids = reader_.docids();
  place_ = static_cast<unsigned>(std::lower_bound(docids.begin() + place_, docids.end(), docid) - docids.begin());
  next_ = docids[place_];
  return true;
}

bool ListWindow::find(docid_t docid) {
  if (next_ > docid) return false;
  return seek(docid) && next_ == docid;
}

void ListWindow::add_to(docid_t begin, docid_t end, float* scores) {
  if (next_ < begin || !entered_) {
    if (next_ >= end || !seek(std::max(begin, next_))) return;
  }
  while (next_ < end) {
    if (!has_parts_) compute_parts();
    const auto docids = reader_.docids();
    const unsigned size = reader_.size();
    unsigned i = place_;
    // A block that ends within the window needs no comparison for each posting.
    const unsigned stop =
        docids[size - 1] < end
            ? size
            : static_cast<unsigned>(std::lower_bound(docids.begin() + i, docids.end(), end) - docids.begin());
    for (; i < stop; ++i) scores[docids[i] - begin] += parts_[i];
    if (stop < size) {
      place_ = stop;
      next_ = docids[stop];
      return;
    }
    pass_block();
    if (next_ >= end) return;
    if (!seek(next_)) return;
  }
}

}  // namespace quern
