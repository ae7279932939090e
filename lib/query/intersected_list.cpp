#include "quern/query/intersected_list.hpp"

#include <algorithm>
#include <numeric>

namespace quern {

IntersectedList::IntersectedList(const ScoringContext& context, const WeightedList& list, bool first)
    : blocks_(context, list.list),
      scorer_(context, list, first ? context.static_scores : std::span<const float>()),
      kernels_(query_kernels()),
      statistics_(context.statistics),
      bounds_(list.list, scorer_, scorer_.list_bound(blocks_.reader())),
      block_size_(context.index->block_size()) {}

void IntersectedList::restart(docid_t docid) {
  blocks_.restart(docid);
  bounds_.restart(docid);
}

docid_t IntersectedList::enter_block(docid_t docid) {
  blocks_.enter();
  const auto docids = blocks_.reader().docids();
  return docids[search_block(docids, 0, docid)];
}

std::size_t IntersectedList::take_block(docid_t docid, docid_t* docids) {
  blocks_.enter();
  const auto of_block = blocks_.reader().docids();
  const std::size_t skipped = search_block(of_block, 0, docid);
  const std::size_t first = blocks_.block() * block_size_ + skipped, count = of_block.size() - skipped;
  std::copy_n(of_block.data() + skipped, count, docids);
  std::iota(postings_.begin(), postings_.begin() + static_cast<std::ptrdiff_t>(count),
            static_cast<std::uint32_t>(first));
  return count;
}

std::size_t IntersectedList::take_block_above(docid_t docid, float min, ScoredArrays taken) {
  std::array<float, max_block_size + over_write_values> terms;
  scorer_.term_scores(blocks_.reader(), terms.data());
  statistics_->postings_scored += blocks_.reader().size();
  const auto of_block = blocks_.reader().docids();
  const auto first = static_cast<std::uint32_t>(blocks_.block() * block_size_);
  std::size_t count = 0;
  for (std::size_t i = search_block(of_block, 0, docid); i < of_block.size(); ++i) {
    taken.docids[count] = of_block[i];
    taken.scores[count] = terms[i];
    postings_[count] = first + static_cast<std::uint32_t>(i);
    count += terms[i] > min;
  }
  return count;
}

std::size_t IntersectedList::keep_found(docid_t* docids, std::size_t count, float min) {
  std::array<FoundPosting, max_wanted> found;
  const bool has_rows = blocks_.reader().num_blocks() > 1;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count && blocks_.move_to(docids[i]);) {
    const std::size_t in_block = kernels_.count_up_to(docids + i, count - i, blocks_.last());
    if (!has_rows || scorer_.block_bound(list(), blocks_.block()) > min) {
      blocks_.enter();
      const std::size_t hits = kernels_.find(docids + i, in_block, blocks_.docids(), found.data());
      const auto first = static_cast<std::uint32_t>(blocks_.block() * block_size_);
      for (std::size_t hit = 0; hit < hits; ++hit, ++kept) {
        const std::size_t document = i + found[hit].document;
        docids[kept] = docids[document];
        postings_[kept] = first + found[hit].place;
        origins_[kept] = static_cast<std::uint16_t>(document);
      }
    }
    i += in_block;
  }
  return kept;
}

void IntersectedList::choose(std::span<std::uint16_t> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    postings_[i] = postings_[numbers[i]];
    numbers[i] = origins_[numbers[i]];
  }
}

void IntersectedList::add_term_scores(const docid_t* docids, std::size_t count, float* scores) {
  std::array<float, max_wanted + kernel_slack> terms;
  std::array<std::uint16_t, max_wanted> places;
  // A short list may be longer than a block.
  const unsigned block_size = list().is_short() ? max_block_size : block_size_;
  for (std::size_t i = 0; i < count;) {
    const std::size_t block = postings_[i] / block_size, end = (block + 1) * block_size;
    std::size_t in_block = 0;
    while (i + in_block < count && postings_[i + in_block] < end) {
      places[in_block] = static_cast<std::uint16_t>(postings_[i + in_block] - block * block_size);
      ++in_block;
    }
    scorer_.term_scores_at(blocks_.reader(), block, docids + i, std::span(places.data(), in_block), terms.data());
    for (std::size_t j = 0; j < in_block; ++j) scores[i + j] += terms[j];
    i += in_block;
  }
  statistics_->postings_scored += count;
}

}  // namespace quern
