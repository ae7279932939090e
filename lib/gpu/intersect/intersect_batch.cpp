#include "quern/gpu/intersect/intersect_batch.hpp"

#include "quern/gpu/device/in_parallel.hpp"

namespace quern::gpu {

void IntersectBatch::begin(Unpacking unpacking, const ItemSizes& sizes, unsigned flight) {
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
    // Block skipping decodes at most one block per document of the shortest list.
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
  // A query that decodes a list also decodes its shortest list, even if that is unpacked.
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
    // If memory is short, the list is decoded again.
    if (lists[i].unpacked.format == ListFormat::coded &&
        UnpackedLists::count_use(*use.state, lists[i].coded.df, use.postings))
      unpack_list(i);
  }
}

void IntersectBatch::finish() {
  if (unpacking_ == Unpacking::frequent) unpack_frequent();
  for (IntersectQuery& query : added_) query.coded = decodes(query) ? 1 : 0;
  cut_all(added_, std::vector<std::uint8_t>(added_.size()), sizes_, index_);
}

WindowedBatch::WindowedBatch(std::unique_ptr<IntersectBatch> batch, std::span<const WantedList> wanted,
                             const ListCache& cache, std::uint64_t words, ListFormat format,
                             std::uint64_t unpacked_words)
    : batch_(std::move(batch)), format_(format) {
  for (const IntersectList& list : batch_->lists) views_.push_back(list.coded);
  for (const WantedList& list : wanted) coded_.emplace_back(batch_->number_of(*list.list), list.list);
  const std::uint32_t ranges = num_ranges(batch_->index().num_documents());
  windows_ = std::make_unique<DocumentWindows>(batch_->index(), BatchLists{views_, coded_}, cache,
                                               WindowLimits{words, max_entries(unpacked_words), ranges});
}

std::uint64_t WindowedBatch::max_entries(std::uint64_t unpacked_words) const {
  if (format_ == ListFormat::coded) return std::numeric_limits<std::uint64_t>::max();
  // A directory takes at most 3 words per 8 postings; docIDs and directory are rounded up.
  const std::uint64_t rounding = 66 * views_.size();
  return (unpacked_words - std::min(unpacked_words, rounding)) / 11 * 8;
}

bool WindowedBatch::is_empty(const IntersectArrays& arrays, const IntersectList& list) const {
  if (list.coded.raw == 0) return !list.coded.has_blocks();
  const std::uint32_t* docids = arrays.raw_docids.data() + list.coded.first_word;
  const std::uint32_t next = lower_bound(docids, 0, list.coded.df, arrays.first_docid);
  return next == list.coded.df || docids[next] >= arrays.end_docid;
}

void WindowedBatch::unpack(IntersectArrays& arrays) const {
  const std::uint32_t block_size = batch_->index().block_size();
  const std::uint32_t documents = arrays.end_docid - arrays.first_docid;
  for (const auto& coded : coded_) {
    IntersectList& list = arrays.lists[coded.first];
    if (!list.coded.has_blocks()) continue;
    const std::uint32_t postings = list.coded.end_posting(block_size) - list.coded.first_posting(block_size);
    UnpackedPlace place = unpacked_place(format_, postings, documents, arrays.unpack_words);
    place.first_docid = arrays.first_docid;
    arrays.unpack_to(coded.first, place, unpacked_words(format_, postings, documents), documents, block_size);
    // To kernels that answer queries, the window's postings are the whole list.
    list.coded = {};
    list.coded.df = postings;
  }
}

void WindowedBatch::make(std::size_t window, std::uint64_t first_word, IntersectWindow& out) const {
  const docid_t num_documents = batch_->index().num_documents();
  windows_->view(window, first_word, 0, out.lists);
  IntersectArrays& arrays = out.arrays;
  arrays.clear();
  arrays.first_docid = static_cast<std::uint32_t>(out.lists.window.first_docid());
  arrays.end_docid = static_cast<std::uint32_t>(std::min<std::uint64_t>(out.lists.window.end_docid(), num_documents));
  arrays.terms = batch_->terms;
  arrays.raw_docids = batch_->raw_docids;
  arrays.lists = batch_->lists;
  for (const auto& coded : coded_) arrays.lists[coded.first].coded = out.lists.lists[coded.first];

  const bool unpacks = format_ != ListFormat::coded;
  std::vector<std::uint8_t> empty(arrays.lists.size());
  in_parallel(empty.size(), [&](std::size_t i) { empty[i] = is_empty(arrays, arrays.lists[i]) ? 1 : 0; });
  if (unpacks) unpack(arrays);
  std::vector<IntersectQuery> added(batch_->added().begin(), batch_->added().end());
  std::vector<std::uint8_t> left_out(added.size());
  in_parallel(added.size(), [&](std::size_t i) {
    IntersectQuery& query = added[i];
    if (!unpacks && query.coded == 0) {
      left_out[i] = window == 0 ? 0 : 1;
      return;
    }
    const auto own = std::span(arrays.terms).subspan(query.first_term, query.terms);
    left_out[i] = std::any_of(own.begin(), own.end(), [&](std::uint32_t list) { return empty[list] != 0; }) ? 1 : 0;
    if (unpacks) query.coded = 0;
  });
  arrays.cut_all(added, left_out, batch_->sizes(), batch_->index());
}

namespace {

constexpr std::uint32_t items_of(std::uint64_t size, std::uint32_t item) {
  return static_cast<std::uint32_t>((size + item - 1) / item);
}

}  // namespace

void IntersectArrays::clear() {
  lists.clear();
  terms.clear();
  queries.clear();
  places.clear();
  raw_docids.clear();
  unpack.clear();
  static_cast<IntersectSizes&>(*this) = {};
  unpack_words = result_words = max_documents = 0;
}

void IntersectArrays::unpack_to(std::uint32_t list, const UnpackedPlace& place, std::uint64_t words,
                                std::uint32_t documents, std::uint32_t block_size) {
  UnpackTask& task = unpack.emplace_back();
  task.list = lists[list].coded;
  task.list.first_block = unpack_blocks;
  task.to = lists[list].unpacked = place;
  task.postings = task.list.end_posting(block_size) - task.list.first_posting(block_size);
  task.first_entry = unpack_entries;
  task.first_tile = unpack_tiles;
  unpack_blocks += task.list.rows_end() - task.list.begin_block;
  unpack_tiles += items_of(place.words, zeroed_tile);
  unpack_words += words;
  if (place.format == ListFormat::buckets) unpack_entries += bucket_entries(documents, place.bucket_shift);
}

void IntersectArrays::cut(IntersectQuery& query, const ItemSizes& sizes, const IndexReader& index) {
  const IntersectList& shortest = lists[terms[query.first_term]];
  // An unpacked list is read completely, even in a window with few of its blocks.
  const std::uint32_t block_size = index.block_size();
  const std::uint32_t postings =
      query.coded == 0 ? shortest.coded.df
                       : shortest.coded.end_posting(block_size) - shortest.coded.first_posting(block_size);
  std::uint32_t all = postings;
  if (query.coded != 0) {
    query.item_size = sizes.blocks * block_size;
    if (shortest.coded.raw != 0) query.item_size = std::max(query.item_size, all);
  } else if (shortest.unpacked.format == ListFormat::bits) {
    query.bits = 1;
    result_words = (result_words + 3) / 4 * 4;  // kernels write four words at a time
    query.item_size = sizes.words_of_bits;
    all = bit_words(static_cast<std::uint32_t>(index.num_documents()));
  } else {
    query.item_size = sizes.documents == 0 ? all : sizes.documents;
  }
  query.first_item = items;
  query.first_word = result_words;
  items += items_of(all, query.item_size);
  result_words += all;
  max_documents += postings;
}

void IntersectArrays::cut_all(std::span<const IntersectQuery> added, std::span<const std::uint8_t> left_out,
                              const ItemSizes& sizes, const IndexReader& index) {
  places.assign(added.size(), not_there);
  queries.clear();
  result_words = max_documents = 0;
  for (const std::uint32_t coded : {1u, 0u}) {
    for (std::size_t i = 0; i < added.size(); ++i) {
      if (added[i].coded != coded || left_out[i] != 0) continue;
      places[i] = static_cast<std::uint32_t>(queries.size());
      cut(queries.emplace_back(added[i]), sizes, index);
    }
    if (coded == 0) break;
    coded_queries = static_cast<std::uint32_t>(queries.size());
    coded_items = items;
  }
}

}  // namespace quern::gpu
