#include "quern/gpu/intersect/intersect_batch.hpp"

#include <algorithm>

#include "quern/formats/posting_reader.hpp"

namespace quern::gpu {
void IntersectBatch::begin(Unpacking unpacking, const PartSizes& sizes, unsigned flight) {
  unpacking_ = unpacking;
  sizes_ = sizes;
  flight_ = flight;
  clear();
  known_.clear();
  uses_.clear();
  unpack_numbers_.clear();
  added_.clear();
  postings = 0;
}

void IntersectBatch::add_raw(const PostingList& list, ListView& view) {
  BlockReader reader(index_, list);
  reader.load(0);
  view.df = static_cast<std::uint32_t>(list.df);
  view.raw = 1;
  view.first_word = raw_docids.size();
  raw_docids.insert(raw_docids.end(), reader.docids().begin(), reader.docids().end());
}

std::uint32_t IntersectBatch::list_of(const PostingList& list) {
  const auto [place, is_new] = known_.try_emplace(list.number, static_cast<std::uint32_t>(lists.size()));
  if (!is_new) return place->second;
  IntersectList& added = lists.emplace_back();
  ListUse& use = uses_.emplace_back();
  if (list.block_last.empty()) {
    add_raw(list, added.coded);
    added.unpacked.format = ListFormat::documents;
  } else {
    added.coded = coded_view(index_, list);
    use.list = &list;
    if (unpacking_ == Unpacking::none) return place->second;
    use.state = &unpacked_.state_of(list.number);
    if (use.state->words > 0) unpacked_.use(flight_, *use.state);
    added.unpacked = use.state->place;
  }
  return place->second;
}

bool IntersectBatch::unpack_list(std::uint32_t number) {
  ListUse& use = uses_[number];
  if (!unpacked_.add(flight_, lists[number].coded.df, unpacking_, *use.state)) return false;
  use.is_unpacked_here = true;
  unpack_numbers_.push_back(number);
  unpack_to(number, use.state->place, use.state->words, static_cast<std::uint32_t>(index_.num_documents()),
            index_.block_size());
  return true;
}

bool IntersectBatch::add(std::span<const PostingList> query_lists) {
  const bool unpack_all = unpacking_ == Unpacking::documents || unpacking_ == Unpacking::buckets;
  IntersectQuery query;
  query.first_term = static_cast<std::uint32_t>(terms.size());
  query.terms = static_cast<std::uint32_t>(query_lists.size());
  for (const PostingList& list : query_lists) {
    const std::uint32_t number = list_of(list);
    if (unpack_all && lists[number].unpacked.format == ListFormat::coded && !unpack_list(number)) {
      terms.resize(query.first_term);
      return false;
    }
    terms.push_back(number);
  }
  const std::uint64_t shortest = query_lists.front().df;
  for (std::size_t i = 0; i < query_lists.size(); ++i) {
    const PostingList& list = query_lists[i];
    postings += list.df;
    // Upper bound of what block skipping would decode: each document of the shortest list may be in a different block.
    const std::uint64_t blocks = std::min<std::uint64_t>(shortest, list.block_last.size());
    uses_[terms[query.first_term + i]].postings +=
        i == 0 ? list.df : std::min<std::uint64_t>(list.df, blocks * index_.block_size());
  }
  max_documents += shortest;
  result_words += shortest + bit_words(0);  // bits are rounded up
  added_.push_back(query);
  return true;
}

bool IntersectBatch::decodes(const IntersectQuery& query) const {
  const auto own = std::span(terms).subspan(query.first_term, query.terms);
  return std::any_of(own.begin(), own.end(),
                     [&](std::uint32_t list) { return lists[list].unpacked.format == ListFormat::coded; });
}

std::vector<WantedList> IntersectBatch::coded_lists() {
  std::vector<std::uint8_t> is_read(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i)
    is_read[i] = lists[i].unpacked.format == ListFormat::coded || uses_[i].is_unpacked_here;
  // If one of a query's lists is decoded, its shortest list is, too, even if it is unpacked.
  for (const IntersectQuery& query : added_)
    if (decodes(query)) is_read[terms[query.first_term]] = true;
  std::vector<WantedList> wanted;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (!is_read[i] || uses_[i].list == nullptr) continue;
    WantedList& list = wanted.emplace_back();
    list.list = uses_[i].list;
    list.view = &lists[i].coded;
    if (!uses_[i].is_unpacked_here) list.blocks = (uses_[i].postings + index_.block_size() - 1) / index_.block_size();
  }
  return wanted;
}

void IntersectBatch::place_unpacked() {
  for (std::size_t i = 0; i < unpack.size(); ++i) {
    const std::uint32_t first_block = unpack[i].list.first_block;
    unpack[i].list = lists[unpack_numbers_[i]].coded;
    unpack[i].list.first_block = first_block;
  }
}

void IntersectBatch::unpack_frequent() {
  for (std::uint32_t i = 0; i < lists.size(); ++i) {
    const ListUse& use = uses_[i];
    // Without memory for it, the list is decoded again.
    if (lists[i].unpacked.format == ListFormat::coded &&
        UnpackedLists::count_use(*use.state, lists[i].coded.df, use.postings))
      unpack_list(i);
  }
}

void IntersectBatch::finish_for_windows() {
  for (IntersectQuery& query : added_) query.coded = decodes(query) ? 1 : 0;
}

void IntersectBatch::finish() {
  if (unpacking_ == Unpacking::frequent) unpack_frequent();
  for (IntersectQuery& query : added_) query.coded = decodes(query) ? 1 : 0;
  cut_all(added_, std::vector<std::uint8_t>(added_.size()), sizes_, index_);
}

}  // namespace quern::gpu
