#include "quern/cache/cache_simulation.hpp"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <limits>
#include <set>
#include <unordered_map>

#include "quern/core/check_range.hpp"
#include "quern/core/parallel_batch.hpp"
#include "quern/core/run_stage.hpp"
#include "quern/formats/posting_reader.hpp"

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

}  // namespace

double CacheFigures::hit_rate() const { return share(list_hits, list_requests); }
double CacheFigures::block_hit_rate() const { return share(block_hits, block_requests); }
double CacheFigures::transfer_bytes_per_query() const { return share(transfer_bytes, queries); }
double CacheFigures::transfer_bytes_per_batch() const { return share(batch_transfer_bytes, batches); }

CacheTrace::CacheTrace(const QueryEngine& engine, std::span<const std::string_view> texts, std::size_t k,
                       std::uint64_t round, const Resources& resources)
    : index_(engine.index()) {
  run_stage(resources, [&] {
    std::unordered_map<std::string_view, std::uint32_t> places;
    std::vector<std::string_view> distinct;
    for (const std::string_view text : texts) {
      const auto [entry, is_new] = places.try_emplace(text, static_cast<std::uint32_t>(distinct.size()));
      if (is_new) distinct.push_back(text);
      log_.push_back(entry->second);
    }
    distinct_.resize(distinct.size());
    tbb::enumerable_thread_specific<Analyzer> analyzers([&] { return engine.make_analyzer(); });
    resources.progress->start("visits", distinct.size(), "queries");
    answer_in_batches<std::vector<ListVisit>>(
        distinct.size(), resources.threads, resources.memory_bytes / 8,
        [&](std::size_t i, std::vector<ListVisit>& visits) {
          visits = engine.visits(analyzers.local().terms(distinct[i]), k, round);
        },
        visit_bytes,
        [&](std::size_t i, const std::vector<ListVisit>& visits) {
          TracedQuery& query = distinct_[i];
          query.known = !visits.empty();
          if (query.known && visits.back().end > 0) {
            query.end = visits.front().end;
            for (const ListVisit& visit : visits) {
              query.requests.push_back({visit.term, visit.end});
              if (lists_.count(visit.term) == 0) lists_[visit.term] = index_.list(visit.term);
            }
          }
          resources.progress->add(1);
        });
    resources.progress->finish();
  });
}

void CacheTrace::serve(const TracedQuery& query, const CacheBlocks& blocks, const CachedBlocks& cached,
                       CacheFigures& figures) const {
  std::uint64_t transferred = 0;
  docid_t complete_to = end_docid;  // m
  for (const Request& request : query.requests) {
    const PostingList& list = lists_.at(request.term);
    const std::uint64_t kept = cached(request.term), all = blocks.count(list);
    const std::uint64_t visited = std::min(blocks.of(list, request.end - 1) + 1, all);
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
    const PostingList& shortest = lists_.at(query.requests.front().term);
    ++figures.post_processed;
    figures.post_processed_postings +=
        postings_below(index_, shortest, query.end) - postings_below(index_, shortest, complete_to + 1);
  } else if (transferred == 0) {
    ++figures.served;
  }
}

CacheFigures CacheTrace::simulate(const CacheBlocks& blocks, const CachedBlocks& cached, std::uint64_t batch) const {
  check_range("queries per batch", batch, 1, std::numeric_limits<std::uint64_t>::max());
  CacheFigures figures;
  std::set<term_t> in_batch;
  for (const std::uint32_t place : log_) {
    const TracedQuery& query = distinct_[place];
    if (query.requests.empty()) {
      ++(query.known ? figures.empty : figures.unknown);
      continue;
    }
    if (figures.queries % batch == 0) {
      in_batch.clear();
      ++figures.batches;
    }
    serve(query, blocks, cached, figures);
    for (const Request& request : query.requests)
      if (cached(request.term) == 0 && in_batch.insert(request.term).second) {
        const PostingList& list = lists_.at(request.term);
        figures.batch_transfer_bytes += blocks.bytes(list, blocks.count(list));
      }
  }
  return figures;
}

}  // namespace quern
