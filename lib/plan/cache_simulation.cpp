#include "quern/plan/cache_simulation.hpp"

#include <limits>
#include <unordered_map>

#include "quern/formats/posting_reader.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/search/query_memory.hpp"

namespace quern {
namespace {

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Postings of a list below a docID.
std::uint64_t postings_below(const IndexReader& index, const PostingList& list, docid_t docid) {
  PostingCursor cursor(index, list);
  cursor.next_geq(docid);
  if (cursor.docid() == end_docid) return list.df;
  return cursor.reader().block() * std::uint64_t{index.block_size()} + cursor.place();
}

/// A set of an index's lists. Clearing takes time proportional to its size.
class ListSet {
 public:
  explicit ListSet(std::uint64_t lists) : has_((lists + bits - 1) / bits) {}

  /// Returns false if the set already contains the list.
  bool insert(term_t list) {
    std::uint64_t& word = has_[list / bits];
    const std::uint64_t bit = std::uint64_t{1} << (list % bits);
    if ((word & bit) != 0) return false;
    if (word == 0) touched_.push_back(list / bits);
    word |= bit;
    return true;
  }
  void clear() {
    for (const std::uint32_t word : touched_) has_[word] = 0;
    touched_.clear();
  }

 private:
  static constexpr std::uint32_t bits = 64;
  std::vector<std::uint64_t> has_;
  std::vector<std::uint32_t> touched_;  ///< words that are not 0
};

}  // namespace

/// A cache of recently requested lists: finding one takes longer than using it.
class CacheTrace::Lists {
 public:
  explicit Lists(const CacheTrace& trace)
      : index_(trace.index_), max_(std::max<std::uint64_t>(1, trace.memory_bytes_ / 16 / bytes_per_list)) {}

  /// Valid until the next call.
  const PostingList& operator[](term_t term) {
    if (const auto found = lists_.find(term); found != lists_.end()) return found->second;
    if (lists_.size() == max_) lists_.clear();
    return lists_[term] = index_.list(term);
  }
  const IndexReader& index() const { return index_; }

 private:
  /// Includes the hash table's overhead.
  static constexpr std::uint64_t bytes_per_list = sizeof(PostingList) + 64;

  const IndexReader& index_;
  std::uint64_t max_;
  std::unordered_map<term_t, PostingList> lists_;
};

double CacheFigures::hit_rate() const { return share(list_hits, list_requests); }
double CacheFigures::block_hit_rate() const { return share(block_hits, block_requests); }
double CacheFigures::transfer_bytes_per_query() const { return share(transfer_bytes, queries); }
double CacheFigures::transfer_bytes_per_batch() const { return share(batch_transfer_bytes, batches); }

CacheTrace::CacheTrace(const QueryEngine& engine, LogQueries& log, std::size_t k, std::uint64_t round,
                       const Resources& resources)
    : index_(engine.index()),
      threads_(resources.threads),
      memory_bytes_(resources.memory_bytes),
      traced_(resources.tmp_folder) {
  ExternalSort in_log_order(resources.tmp_folder, resources.memory_bytes / 8);
  Bytes bytes;
  std::uint64_t with_terms = 0;
  const auto add = [&](const LogQuery& query, const std::vector<ListVisit>& visits) {
    with_terms += query.places.size();
    if (visits.empty()) {
      left_out_.unknown += query.places.size();
    } else if (visits.back().end == 0) {
      left_out_.empty += query.places.size();
    } else {
      bytes.clear();
      put(visits, bytes);
      for (const std::uint64_t place : query.places) in_log_order.add(SortKey(place).view(), bytes);
    }
  };
  visit_log(engine, log, k, round, add, resources);
  left_out_.unknown += log.queries() - with_terms;
  queries_ = in_log_order.count();
  on_threads(threads_, [&] { in_log_order.merge([&](std::string_view, ByteView query) { traced_.append(query); }); });
}

void CacheTrace::put(const std::vector<ListVisit>& visits, Bytes& to) {
  put_varint(to, visits.size());
  for (const ListVisit& visit : visits) {
    put_varint(to, visit.term);
    put_varint(to, visit.end);
  }
}

void CacheTrace::read(SpoolReader& reader, TracedQuery& query) {
  query.requests.resize(reader.varint());
  for (Request& request : query.requests) {
    request.term = static_cast<term_t>(reader.varint());
    request.end = static_cast<docid_t>(reader.varint());
  }
  query.end = query.requests.front().end;
}

void CacheTrace::serve(const TracedQuery& query, const CacheBlocks& blocks, const CachedBlocks& cached, Lists& lists,
                       CacheFigures& figures) {
  std::uint64_t transferred = 0;
  docid_t complete_to = end_docid;  // m
  for (const Request& request : query.requests) {
    const PostingList& list = lists[request.term];
    if (!is_kept(list)) continue;  // transferred with the query
    const std::uint64_t kept = cached(request.term), all = blocks.count(list);
    const std::uint64_t visited = std::min(blocks.containing(list, request.end - 1) + 1, all);
    ++figures.list_requests;
    figures.block_requests += visited;
    figures.block_hits += std::min(kept, visited);
    if (kept == 0) {
      transferred += blocks.bytes(list, all);
      continue;
    }
    ++figures.list_hits;
    if (kept < all) complete_to = std::min(complete_to, blocks.last(list, kept));
  }
  ++figures.queries;
  figures.transfer_bytes += transferred;
  if (query.end - 1 > complete_to) {
    const PostingList& shortest = lists[query.requests.front().term];
    ++figures.post_processed;
    figures.post_processed_postings +=
        postings_below(lists.index(), shortest, query.end) - postings_below(lists.index(), shortest, complete_to + 1);
  } else if (transferred == 0) {
    ++figures.served;
  }
}

CacheFigures CacheTrace::simulate(const CacheBlocks& blocks, const CachedBlocks& cached, std::uint64_t batch) const {
  check_range("queries per batch", batch, 1, std::numeric_limits<std::uint64_t>::max());
  CacheFigures figures = left_out_;
  Lists lists(*this);
  ListSet in_batch(index_.manifest().terms);
  IndexPages pages(index_, memory_bytes_ / 4);
  SpoolReader reader(traced_, 0, traced_.size());
  TracedQuery query;
  while (figures.queries < queries_) {
    read(reader, query);
    if (figures.queries % batch == 0) {
      in_batch.clear();
      ++figures.batches;
    }
    serve(query, blocks, cached, lists, figures);
    for (const Request& request : query.requests)
      if (cached(request.term) == 0 && in_batch.insert(request.term)) {
        const PostingList& list = lists[request.term];
        figures.batch_transfer_bytes += blocks.bytes(list, blocks.count(list));
      }
    pages.note_query();
  }
  return figures;
}

}  // namespace quern
