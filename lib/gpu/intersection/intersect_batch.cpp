#include "quern/gpu/intersection/intersect_batch.hpp"

#include <algorithm>

#include "quern/formats/posting_reader.hpp"

namespace quern::gpu {
namespace {

constexpr std::uint32_t parts_of(std::uint64_t size, std::uint32_t part) {
  return static_cast<std::uint32_t>((size + part - 1) / part);
}

}  // namespace

void IntersectBatch::begin(Unpacking unpacking, const PartSizes& sizes, unsigned flight) {
  unpacking_ = unpacking;
  sizes_ = sizes;
  flight_ = flight;
  lists.clear();
  terms.clear();
  queries.clear();
  places.clear();
  raw_docids.clear();
  unpack.clear();
  known_.clear();
  uses_.clear();
  unpack_numbers_.clear();
  added_.clear();
  coded_queries = coded_parts = parts = unpack_blocks = unpack_pieces = 0;
  unpack_entries = unpack_words = postings = 0;
  result_words_ = next_word_ = max_documents_ = 0;
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
  unpack_words += use.state->words;
  use.is_unpacked_here = true;
  unpack_numbers_.push_back(number);
  UnpackTask& task = unpack.emplace_back();
  task.list = lists[number].coded;
  task.list.first_block = unpack_blocks;
  task.to = lists[number].unpacked = use.state->place;
  task.first_entry = unpack_entries;
  task.first_piece = unpack_pieces;
  unpack_blocks += task.list.rows;
  unpack_pieces += parts_of(task.to.words, zeroed_piece);
  if (task.to.format == ListFormat::buckets)
    unpack_entries += bucket_entries(static_cast<std::uint32_t>(index_.num_documents()), task.to.bucket_shift);
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
  max_documents_ += shortest;
  result_words_ += shortest + bit_words(0);  // bits are rounded up
  added_.push_back(query);
  return true;
}

std::vector<WantedList> IntersectBatch::coded_lists() {
  std::vector<std::uint8_t> is_read(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i)
    is_read[i] = lists[i].unpacked.format == ListFormat::coded || uses_[i].is_unpacked_here;
  // If one of a query's lists is decoded, its shortest list is, too, even if it is unpacked.
  for (const IntersectQuery& query : queries)
    if (query.coded != 0) is_read[terms[query.first_term]] = true;
  std::vector<WantedList> wanted;
  for (std::size_t i = 0; i < lists.size(); ++i)
    if (is_read[i] && uses_[i].list != nullptr) wanted.push_back({uses_[i].list, &lists[i].coded});
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

void IntersectBatch::cut(IntersectQuery& query) {
  const IntersectList& shortest = lists[terms[query.first_term]];
  const std::uint32_t df = shortest.coded.df;
  std::uint32_t all = df;
  if (query.coded != 0) {
    query.part_size = sizes_.blocks * index_.block_size();
    if (shortest.coded.raw != 0) query.part_size = std::max(query.part_size, df);
  } else if (shortest.unpacked.format == ListFormat::bits) {
    query.bits = 1;
    next_word_ = (next_word_ + 3) / 4 * 4;  // four words are written at a time
    query.part_size = sizes_.words_of_bits;
    all = bit_words(static_cast<std::uint32_t>(index_.num_documents()));
  } else {
    query.part_size = sizes_.documents == 0 ? df : sizes_.documents;
  }
  query.first_part = parts;
  query.first_word = next_word_;
  parts += parts_of(all, query.part_size);
  next_word_ += all;
}

void IntersectBatch::finish() {
  if (unpacking_ == Unpacking::frequent) unpack_frequent();
  for (IntersectQuery& query : added_)
    for (std::uint32_t t = 0; t < query.terms; ++t)
      if (lists[terms[query.first_term + t]].unpacked.format == ListFormat::coded) query.coded = 1;
  places.resize(added_.size());
  queries.clear();
  for (const std::uint32_t coded : {1u, 0u}) {
    for (std::size_t i = 0; i < added_.size(); ++i) {
      if (added_[i].coded != coded) continue;
      places[i] = static_cast<std::uint32_t>(queries.size());
      cut(queries.emplace_back(added_[i]));
    }
    if (coded == 0) break;
    coded_queries = static_cast<std::uint32_t>(queries.size());
    coded_parts = parts;
  }
  result_words_ = next_word_;
}

}  // namespace quern::gpu
