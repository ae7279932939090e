#include "quern/search/list_window.hpp"

namespace quern {

ListWindow::ListWindow(const ScoringContext& context, const WeightedList& list, bool by_block)
    : blocks_(context, list.list),
      scorer_(context, list),
      kernels_(query_kernels()),
      static_scores_(context.static_scores),
      statistics_(context.statistics),
      impacts_(context.quantizer ? impact_bytes(*context.index, list.list) : nullptr),
      bounds_(list.list, scorer_, scorer_.list_bound(blocks_.reader())),
      by_block_(by_block),
      term_scores_(max_block_size + over_write_values) {
  restart(0);
}

void ListWindow::add_bounds(const Windows& windows, std::span<double> sums) const {
  const auto last = reader().list().block_last;
  if (last.empty()) {
    // A single block is already decoded: only windows that contain its postings get the bound.
    std::size_t added = sums.size();
    for (const docid_t docid : reader().docids())
      if (windows.of(docid) != added) sums[added = windows.of(docid)] += max_term_score();
    return;
  }
  if (!scorer_.bounds_hold()) {
    for (double& sum : sums) sum += max_term_score();
    return;
  }
  std::size_t window = 0;
  float max = 0;
  for (std::size_t block = 0; block < last.size(); ++block) {
    if (last[block] >= windows.num_documents()) reader().fail(block, "its row's docID is out of range");
    const float bound = scorer_.block_bound(reader().list(), block);
    for (const std::size_t end = windows.of(last[block]); window < end; ++window) {
      sums[window] += std::max(max, bound);
      max = 0;
    }
    max = std::max(max, bound);
  }
  sums[window] += max;
}

void ListWindow::restart(docid_t docid) {
  blocks_.restart(docid);
  bounds_.restart(docid);
  place_ = 0;
  entered_ = reader().holds(blocks_.block());
}

const float* ListWindow::term_scores() {
  if (!has_term_scores_) {
    scorer_.term_scores(blocks_.reader(), term_scores_.get());
    has_term_scores_ = true;
    statistics_->postings_scored += reader().size();
  }
  return term_scores_.get();
}

void ListWindow::enter_block() {
  if (entered_) return;
  if (impacts_) {
    // Fetched while the docIDs are decoded.
    const std::uint8_t* const first = impacts_ + blocks_.first_posting();
    for (unsigned i = 0; i < blocks_.block_size(); i += 64) __builtin_prefetch(first + i);
  }
  if (blocks_.enter()) has_term_scores_ = false;
  entered_ = true;
  place_ = 0;
}

bool ListWindow::move_to_block(docid_t docid) {
  const std::size_t before = blocks_.block();
  const bool found = blocks_.move_to(docid);
  entered_ &= blocks_.block() == before;
  return found;
}

bool ListWindow::seek(docid_t docid) {
  if (!move_to_block(docid)) return false;
  enter_block();
  place_ = static_cast<unsigned>(search_block(reader().docids(), place_, docid));
  blocks_.set_next(reader().docids()[place_]);
  return true;
}

template <class Take>
void ListWindow::walk(docid_t begin, docid_t end, Take&& take) {
  if (next_docid() < begin || !entered_) {
    if (next_docid() >= end || !seek(std::max(begin, next_docid()))) return;
  }
  while (next_docid() < end) {
    const auto docids = reader().docids();
    const unsigned size = reader().size();
    // A block that ends within the window needs no search.
    const unsigned stop = docids[size - 1] < end ? size : static_cast<unsigned>(search_block(docids, place_, end));
    take(docids.data() + place_, place_, stop - place_);
    if (stop < size) {
      place_ = stop;
      blocks_.set_next(docids[stop]);
      return;
    }
    blocks_.leave();
    entered_ = false;
    if (next_docid() >= end) return;
    enter_block();
    blocks_.set_next(reader().docids().front());
  }
}

void ListWindow::add_to(docid_t begin, docid_t end, float* scores) {
  if (impacts_) {
    walk(begin, end, [&](const docid_t* docids, unsigned place, unsigned n) {
      kernels_.add_impacts(docids, impacts_ + blocks_.first_posting() + place, n, scorer_.weight(), begin, scores);
      statistics_->postings_scored += n;
    });
    return;
  }
  if (static_scores_.empty()) {
    walk(begin, end, [&](const docid_t* docids, unsigned place, unsigned n) {
      kernels_.add(docids, term_scores() + place, n, begin, scores);
    });
    return;
  }
  walk(begin, end, [&](const docid_t* docids, unsigned place, unsigned n) {
    const float* const terms = term_scores() + place;
    for (unsigned i = 0; i < n; ++i) {
      float& score = scores[docids[i] - begin];
      score = (score < 0 ? static_scores_[docids[i]] : score) + terms[i];
    }
  });
}

void ListWindow::add_to(Candidates& documents) {
  const docid_t* const docids = documents.docids();
  for (std::size_t i = 0; i < documents.size() && move_to_block(docids[i]);) {
    const std::size_t in_block = kernels_.count_up_to(docids + i, documents.size() - i, blocks_.last());
    add_in_block(docids + i, in_block, documents.scores() + i);
    i += in_block;
  }
}

void ListWindow::take_above(docid_t begin, docid_t end, float min, Candidates& taken) {
  taken.resize(0);
  walk(begin, end, [&](const docid_t* docids, unsigned place, unsigned n) {
    taken.grow(kernels_.keep_above(docids, term_scores() + place, n, min, taken.from(taken.size())));
  });
}

void ListWindow::add_in_block(const docid_t* docids, std::size_t count, float* scores) {
  enter_block();
  std::array<FoundPosting, max_wanted> found;
  std::array<std::uint16_t, max_wanted> places;
  std::array<docid_t, max_wanted> at;
  std::array<float, max_wanted + kernel_slack> terms;
  for (std::size_t from = 0; from < count; from += max_wanted) {
    const std::size_t batch = std::min(max_wanted, count - from);
    const std::size_t hits = kernels_.find(docids, from, from + batch, blocks_.docids(), found.data());
    if (has_term_scores_) {
      for (std::size_t i = 0; i < hits; ++i) scores[found[i].document] += term_scores_[found[i].place];
      continue;
    }
    for (std::size_t i = 0; i < hits; ++i) {
      at[i] = docids[found[i].document];
      places[i] = found[i].place;
    }
    scorer_.term_scores_at(blocks_.reader(), blocks_.block(), at.data(), {places.data(), hits}, terms.data());
    for (std::size_t i = 0; i < hits; ++i) scores[found[i].document] += terms[i];
    statistics_->postings_scored += hits;
  }
}

void ListWindow::complete(Candidates& documents, double rest, const ScoreCut& cut) {
  const std::size_t size = documents.size();
  docid_t* const docids = documents.docids();
  float* const scores = documents.scores();
  std::size_t kept = 0, i = 0;
  while (i < size && move_to_block(docids[i])) {
    // Takes all documents in the block's range, except those that its bound can't lift to the threshold.
    const std::size_t in_block = kernels_.count_up_to(docids + i, size - i, blocks_.last());
    const float min_before = cut.min_score(rest + block_bound());
    const std::size_t open = kernels_.keep_above(docids + i, scores + i, in_block, min_before, documents.from(kept));
    i += in_block;
    if (open == 0) continue;
    add_in_block(docids + kept, open, scores + kept);
    kept += open;
  }
  std::copy(docids + i, docids + size, docids + kept);
  std::copy(scores + i, scores + size, scores + kept);
  kept += size - i;
  documents.resize(kernels_.keep_above(docids, scores, kept, cut.min_score(rest), documents.from(0)));
}

ListBlocks::ListBlocks(const ScoringContext& context, const PostingList& list)
    : reader_(*context.index, list, &context.statistics->blocks_decoded), block_size_(context.index->block_size()) {
  restart(0);
}

void ListBlocks::restart(docid_t docid) {
  const auto last = reader_.list().block_last;
  block_ = search_rows(last, 0, docid);
  if (block_ == reader_.num_blocks())
    next_ = end_docid;
  else if (reader_.holds(block_))
    next_ = reader_.docids().front();
  else
    next_ = block_ == 0 ? 0 : last[block_ - 1] + 1;
}

bool ListBlocks::search(docid_t docid, const RowBuckets* buckets) {
  block_ = reader_.num_blocks() == 1 ? 1
           : buckets                 ? buckets->search(block_ + 1, docid)
                                     : search_rows(reader_.list().block_last, block_ + 1, docid);
  if (block_ == reader_.num_blocks()) {
    next_ = end_docid;
    return false;
  }
  next_ = reader_.last(block_ - 1) + 1;
  return true;
}

docid_t ListBlocks::end_of_postings(docid_t docid, std::size_t postings) const {
  if (at_end()) return end_docid;
  if (reader_.num_blocks() == 1) return reader_.size() <= postings ? end_docid : docid;
  const std::size_t blocks = postings / block_size_;
  if (blocks == 0) return docid;
  // Starts at the block that move_to() would find, so that a damaged row can't lengthen the range.
  const docid_t next = std::max(docid, next_);
  const auto last_docids = reader_.list().block_last;
  const std::size_t first = last() >= next ? block_ : search_rows(last_docids, block_ + 1, next);
  if (last_docids.size() - first < blocks) return end_docid;
  return std::max(docid, last_docids[first + blocks - 1] + 1);
}

void ListBlocks::leave() {
  const bool more = block_ + 1 < reader_.num_blocks();
  next_ = more ? last() + 1 : end_docid;
  ++block_;
}

bool ListBlocks::enter() {
  if (reader_.holds(block_)) return false;
  reader_.load(block_);
  return true;
}

}  // namespace quern
