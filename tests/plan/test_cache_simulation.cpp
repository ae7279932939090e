#include <map>
#include <set>
#include <string>

#include "quern/plan/cache_simulation.hpp"

#include "catch.hpp"
#include "plan/cached_pages.hpp"

/// Simulated caches against a straightforward implementation of their definition.
namespace quern {

using namespace testing;

TEST_CASE("a simulated cache transfers, hits and post-processes according to its definition", "[cache][property]") {
  const CachedPages pages(tiny);
  const CacheBlocks blocks(pages.index, 2 * tiny);
  LogQueries log(pages.index.manifest().analyzer, pages.pages.pipeline.resources);
  add_all(pages, log);
  // So little memory that lists are looked up repeatedly.
  Resources resources = pages.pages.pipeline.resources;
  resources.memory_bytes = 1 << 14;
  const CacheTrace trace(pages.engine, log, 3, 2 * tiny, resources);
  RandomBits random(7);
  for (std::size_t draw = 0; draw < 20; ++draw) {
    std::map<term_t, std::uint64_t> kept;
    const auto blocks_kept = [&](term_t term) {
      const auto [entry, is_new] = kept.try_emplace(term, 0);
      const std::uint64_t all = blocks.count(pages.index.list(term));
      if (is_new) entry->second = random.below(3) == 0 ? 0 : draw == 0 ? all : random.below(all + 1);
      return entry->second;
    };
    const CacheFigures found = trace.simulate(blocks, blocks_kept, 16);
    CacheFigures wanted;
    std::set<std::string> in_batch;
    for (const auto& terms : pages.log) {
      const PlainQuery query = run_plainly(pages, terms, 3, 2 * tiny);
      if (!query.known || query.ends.back() == 0) {
        ++(query.known ? wanted.empty : wanted.unknown);
        continue;
      }
      if (wanted.queries++ % 16 == 0) {
        in_batch.clear();
        ++wanted.batches;
      }
      docid_t m = end_docid;
      bool transfers = false;
      for (std::size_t i = 0; i < query.terms.size(); ++i) {
        const auto& postings = pages.model.lists().at(query.terms[i]);
        const PostingList list = *pages.index.find(query.terms[i]);
        if (postings.size() <= tiny) continue;  // transferred with the query
        const std::uint64_t n = blocks_kept(list.number), bytes = blocks.bytes(list, blocks.count(list));
        ++wanted.list_requests;
        wanted.list_hits += n > 0;
        for (std::uint64_t b = 0;
             b * blocks.size() < postings.size() && postings[b * blocks.size()].docid < query.ends[i]; ++b) {
          ++wanted.block_requests;
          wanted.block_hits += b < n;
        }
        if (n == 0) {
          transfers = true;
          wanted.transfer_bytes += bytes;
          if (in_batch.insert(query.terms[i]).second) wanted.batch_transfer_bytes += bytes;
        } else if (n * blocks.size() < postings.size()) {
          m = std::min(m, postings[n * blocks.size() - 1].docid);
        }
      }
      std::uint64_t after = 0;
      for (const ModelPosting& posting : pages.model.lists().at(query.terms[0]))
        after += m != end_docid && posting.docid > m && posting.docid < query.ends[0];
      wanted.post_processed += after > 0;
      wanted.post_processed_postings += after;
      wanted.served += after == 0 && !transfers;
    }
    CHECK(found.queries == wanted.queries);
    CHECK(found.unknown == wanted.unknown);
    CHECK(found.empty == wanted.empty);
    CHECK(found.list_requests == wanted.list_requests);
    CHECK(found.list_hits == wanted.list_hits);
    CHECK(found.block_requests == wanted.block_requests);
    CHECK(found.block_hits == wanted.block_hits);
    CHECK(found.transfer_bytes == wanted.transfer_bytes);
    CHECK(found.batch_transfer_bytes == wanted.batch_transfer_bytes);
    CHECK(found.batches == wanted.batches);
    CHECK(found.post_processed == wanted.post_processed);
    CHECK(found.post_processed_postings == wanted.post_processed_postings);
    CHECK(found.served == wanted.served);
    if (draw > 0) CHECK(found.post_processed > 0);
  }
}

}  // namespace quern
