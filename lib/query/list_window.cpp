#include "quern/query/list_window.hpp"

#include <algorithm>

namespace quern {
namespace {

/// Moves those of documents[from] to documents[to - 1] with scores above `min` to documents[kept] and after; returns
/// their end.
std::size_t keep_above(std::span<ScoredDocument> documents, std::size_t from, std::size_t to, std::size_t kept,
                       float min) {
  for (std::size_t i = from; i < to; ++i) {
    documents[kept] = documents[i];
    kept += documents[i].score > min;
  }
  return kept;
}

}  // namespace

ListWindow::ListWindow(const ScoringContext& context, const WeightedList& list, bool first)
    : reader_(*context.index, list.list, &context.statistics->blocks_decoded),
      scorer_(context, list, first ? context.static_scores : std::span<const float>()),
      static_scores_(context.static_scores),
      block_size_(context.index->block_size()),
      statistics_(context.statistics),
      bounds_(list.list, scorer_, scorer_.list_bound(reader_)) {
  restart(0);
}

float ListWindow::bound(docid_t begin, docid_t end) { return next_ >= end ? 0 : bounds_.in(begin, end); }

void ListWindow::add_bounds(const Windows& windows, std::span<double> sums) const {
  const auto last = reader_.list().block_last;
  if (last.empty()) {
    // A single block, which is decoded already: only the windows of its postings.
    std::size_t added = sums.size();
    for (const docid_t docid : reader_.docids()) {
      if (windows.of(docid) != added) sums[added = windows.of(docid)] += max_term_score();
    }
    return;
  }
  if (!scorer_.bounds_hold()) {
    for (double& sum : sums) sum += max_term_score();
    return;
  }
  std::size_t window = 0;
  float max = 0;
  for (std::size_t block = 0; block < last.size(); ++block) {
    if (last[block] >= windows.num_documents()) reader_.fail(block, "its row's docID is not one of the documents");
    const float bound = scorer_.block_bound(reader_.list(), block);
    for (const std::size_t end = windows.of(last[block]); window < end; ++window) {
      sums[window] += std::max(max, bound);
      max = 0;
    }
    max = std::max(max, bound);
  }
  sums[window] += max;
}

void ListWindow::restart(docid_t docid) {
  const auto last = reader_.list().block_last;
  block_ = search_rows(last, 0, docid);
  bounds_.restart(docid);
  place_ = 0;
  entered_ = reader_.holds(block_);
  if (entered_) {
    next_ = reader_.docids().front();
  } else if (block_ == reader_.num_blocks()) {
    next_ = end_docid;
  } else {
    next_ = block_ == 0 ? 0 : last[block_ - 1] + 1;
  }
}

void ListWindow::compute_term_scores() {
  scorer_.term_scores(reader_, term_scores_.data());
  has_term_scores_ = true;
  statistics_->postings_scored += reader_.size();
}

void ListWindow::enter_block() {
  if (entered_) return;
  if (!reader_.holds(block_)) {
    reader_.load(block_);
    has_term_scores_ = false;
  }
  entered_ = true;
  place_ = 0;
}

void ListWindow::leave_block() {
  const bool more = block_ + 1 < reader_.num_blocks();
  next_ = more ? reader_.last(block_) + 1 : end_docid;
  ++block_;
  entered_ = false;
}

bool ListWindow::move_to_block(docid_t docid) {
  if (reader_.last(block_) >= docid) return true;
  block_ = reader_.num_blocks() == 1 ? 1 : search_rows(reader_.list().block_last, block_ + 1, docid);
  entered_ = false;
  if (block_ == reader_.num_blocks()) {
    next_ = end_docid;
    return false;
  }
  next_ = reader_.last(block_ - 1) + 1;
  return true;
}

bool ListWindow::seek(docid_t docid) {
  if (next_ == end_docid || !move_to_block(docid)) return false;
  enter_block();
  place_ = static_cast<unsigned>(search_block(reader_.docids(), place_, docid));
  next_ = reader_.docids()[place_];
  return true;
}

void ListWindow::add_places(docid_t begin, unsigned stop, float* scores) {
  const auto docids = reader_.docids();
  if (static_scores_.empty()) {
    for (unsigned i = place_; i < stop; ++i) scores[docids[i] - begin] += term_scores_[i];
    return;
  }
  for (unsigned i = place_; i < stop; ++i) {
    float& score = scores[docids[i] - begin];
    const float before = score;
    score = (before < 0 ? static_scores_[docids[i]] : before) + term_scores_[i];
  }
}

void ListWindow::add_to(docid_t begin, docid_t end, float* scores) {
  if (next_ < begin || !entered_) {
    if (next_ >= end || !seek(std::max(begin, next_))) return;
  }
  while (next_ < end) {
    if (!has_term_scores_) compute_term_scores();
    const auto docids = reader_.docids();
    const unsigned size = reader_.size();
    // A block that ends within the window needs no comparison per posting.
    const unsigned stop = docids[size - 1] < end ? size : static_cast<unsigned>(search_block(docids, place_, end));
    add_places(begin, stop, scores);
    if (stop < size) {
      place_ = stop;
      next_ = docids[stop];
      return;
    }
    leave_block();
    if (next_ >= end) return;
    if (!seek(next_)) return;
  }
}

template <class Take>
void ListWindow::look_up(std::span<ScoredDocument> documents, Take&& take) {
  enter_block();
  const auto docids = reader_.docids();
  // Neither this loop nor those of add_term_scores() branch on what is found, and no look-up depends on the one before.
  constexpr std::size_t at_once = 256;
  std::array<std::uint16_t, at_once> found, places;
  for (; !documents.empty(); documents = documents.subspan(std::min(at_once, documents.size()))) {
    std::size_t hits = 0;
    for (std::size_t i = 0; i < std::min(at_once, documents.size()); ++i) {
      const std::size_t place = search_block(docids, 0, documents[i].docid);
      found[hits] = static_cast<std::uint16_t>(i);
      places[hits] = static_cast<std::uint16_t>(place);
      place_ = static_cast<unsigned>(place);
      hits += docids[place] == documents[i].docid;
    }
    take(documents, std::span<const std::uint16_t>(found.data(), hits),
         std::span<const std::uint16_t>(places.data(), hits));
  }
  next_ = docids[place_];
}

void ListWindow::add_in_block(std::span<ScoredDocument> documents) {
  look_up(documents, [this](auto some, auto found, auto places) { add_term_scores(some, found, places); });
}

std::size_t ListWindow::keep_in_block(std::span<ScoredDocument> documents) {
  std::size_t kept = 0;
  look_up(documents, [&](auto some, auto found, auto places) {
    add_term_scores(some, found, places);
    for (const std::uint16_t i : found) documents[kept++] = some[i];
  });
  return kept;
}

void ListWindow::intersect(std::vector<ScoredDocument>& documents) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < documents.size() && next_ != end_docid && move_to_block(documents[i].docid);) {
    const docid_t last = reader_.last(block_);
    const std::size_t from = i;
    while (i < documents.size() && documents[i].docid <= last) ++i;
    const std::size_t hits = keep_in_block(std::span(documents).subspan(from, i - from));
    std::copy_n(documents.begin() + static_cast<std::ptrdiff_t>(from), hits,
                documents.begin() + static_cast<std::ptrdiff_t>(kept));
    kept += hits;
  }
  documents.resize(kept);
}

bool ListWindow::take_block(docid_t docid, std::vector<ScoredDocument>& documents) {
  documents.clear();
  if (next_ == end_docid || !move_to_block(docid)) return false;
  enter_block();
  for (const docid_t of_block : reader_.docids()) {
    if (of_block >= docid) documents.push_back({of_block, 0});
  }
  return true;
}

void ListWindow::add_term_scores(std::span<ScoredDocument> documents, std::span<const std::uint16_t> found,
                                 std::span<const std::uint16_t> places) {
  if (has_term_scores_) {
    for (std::size_t i = 0; i < found.size(); ++i) documents[found[i]].score += term_scores_[places[i]];
    return;
  }
  reader_.expect_freqs(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) documents[found[i]].score += scorer_.term_score(reader_, places[i]);
  statistics_->postings_scored += found.size();
}

void ListWindow::complete(std::vector<ScoredDocument>& documents, double rest, const ScoreCut& cut) {
  const float min_after = cut.min_score(rest);
  std::size_t kept = 0;
  std::size_t i = 0;
  while (i < documents.size() && next_ != end_docid && move_to_block(documents[i].docid)) {
    // All documents up to the end of the block whose range contains the next one, except those that it cannot help.
    const docid_t last = reader_.last(block_);
    const float min_before = cut.min_score(rest + block_bound());
    std::size_t open = kept;
    for (; i < documents.size() && documents[i].docid <= last; ++i) {
      documents[open] = documents[i];
      open += documents[i].score > min_before;
    }
    if (open == kept) continue;
    const std::size_t from = kept;
    add_in_block(std::span(documents).subspan(from, open - from));
    kept = keep_above(documents, from, open, kept, min_after);
  }
  kept = keep_above(documents, i, documents.size(), kept, min_after);
  documents.resize(kept);
}

}  // namespace quern
