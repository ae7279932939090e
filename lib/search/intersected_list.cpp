#include "quern/search/intersected_list.hpp"

namespace quern {

IntersectedList::IntersectedList(const ScoringContext& context, const WeightedList& list, bool first)
    : blocks_(context, list.list),
      scorer_(context, list, first ? context.static_scores : std::span<const float>()),
      kernels_(query_kernels()),
      statistics_(context.statistics),
      passing_(context.passing) {}

docid_t IntersectedList::enter_block(docid_t docid) {
  blocks_.enter();
  const auto docids = blocks_.reader().docids();
  return docids[search_block(docids, 0, docid)];
}

void IntersectedList::end_run(std::size_t end, std::size_t block) {
  found_->run_ends[runs_] = static_cast<std::uint16_t>(end);
  found_->run_blocks[runs_++] = static_cast<std::uint32_t>(block);
}

std::size_t IntersectedList::take_block(docid_t docid, docid_t* docids) {
  const auto block_docids = blocks_.reader().docids();
  std::size_t count = 0;
  for (std::size_t place = search_block(block_docids, 0, docid); place < block_docids.size(); ++place) {
    docids[count] = block_docids[place];
    found_->postings[count] = {static_cast<std::uint16_t>(count), static_cast<std::uint16_t>(place)};
    count += !passing_ || passing_->contains(block_docids[place]);
  }
  runs_ = 0;
  end_run(count, blocks_.block());
  return count;
}

std::size_t IntersectedList::take_block_above(docid_t docid, float min, ScoredArrays taken) {
  std::array<float, max_block_size + over_write_values> terms;
  scorer_.term_scores(blocks_.reader(), terms.data());
  statistics_->postings_scored += blocks_.reader().size();
  const auto block_docids = blocks_.reader().docids();
  const std::size_t skipped = search_block(block_docids, 0, docid);
  return kernels_.keep_above(block_docids.data() + skipped, terms.data() + skipped, block_docids.size() - skipped, min,
                             taken);
}

static_assert(max_looked_up <= max_wanted);

std::size_t IntersectedList::keep_found(docid_t* docids, std::size_t count, float min) {
  const bool has_rows = num_blocks() > 1;
  std::size_t kept = 0;
  runs_ = 0;
  for (std::size_t i = 0; i < count && blocks_.move_to(docids[i]);) {
    const std::size_t end = i + kernels_.count_up_to(docids + i, count - i, blocks_.last());
    if (!has_rows || scorer_.block_bound(list(), blocks_.block()) > min) {
      blocks_.enter();
      FoundPosting* const found = found_->postings.data() + kept;
      const std::size_t hits = kernels_.find(docids, i, end, blocks_.docids(), found);
      for (std::size_t hit = 0; hit < hits; ++hit) docids[kept + hit] = docids[found[hit].document];
      kept += hits;
      if (hits > 0) end_run(kept, blocks_.block());
    }
    i = end;
  }
  return kept;
}

void IntersectedList::choose(std::span<std::uint16_t> numbers) {
  std::size_t i = 0;
  for (std::size_t run = 0; run < runs_; ++run) {
    for (; i < numbers.size() && numbers[i] < found_->run_ends[run]; ++i) {
      found_->postings[i] = found_->postings[numbers[i]];
      numbers[i] = found_->postings[i].document;
    }
    found_->run_ends[run] = static_cast<std::uint16_t>(i);
  }
}

void IntersectedList::add_term_scores(const docid_t* docids, std::size_t count, float* scores) {
  std::array<float, max_wanted + kernel_slack> terms;
  std::array<std::uint16_t, max_wanted> places;
  for (std::size_t run = 0, i = 0; run < runs_; ++run) {
    const std::size_t size = found_->run_ends[run] - i;
    if (size == 0) continue;
    for (std::size_t j = 0; j < size; ++j) places[j] = found_->postings[i + j].place;
    scorer_.term_scores_at(blocks_.reader(), found_->run_blocks[run], docids + i, {places.data(), size}, terms.data());
    for (std::size_t j = 0; j < size; ++j) scores[i + j] += terms[j];
    i += size;
  }
  statistics_->postings_scored += count;
}

}  // namespace quern
