#include "quern/index/shards/shard_cuts.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "quern/corpus/forward_postings.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/order/for_each_chunk.hpp"
#include "quern/order/order.hpp"

namespace quern {

std::vector<docid_t> cut_into_shards(docid_t documents, std::size_t count,
                                     const std::function<std::uint64_t(docid_t)>& postings) {
  std::uint64_t all = documents;
  for (docid_t docid = 0; docid < documents; ++docid) all += postings(docid);
  std::vector<docid_t> firsts = {0};
  std::uint64_t before = 0;  // postings before the current document
  for (docid_t docid = 0; docid < documents && firsts.size() < count; ++docid) {
    // The next shard begins at its share of all postings; the product needs 128 bits.
    while (firsts.size() < count &&
           static_cast<unsigned __int128>(before) * count >= static_cast<unsigned __int128>(all) * firsts.size())
      firsts.push_back(docid);
    before += postings(docid) + 1;
  }
  firsts.resize(count, documents);
  if (documents < count) return firsts;
  // A document of many postings must not leave neighbouring shards empty.
  for (std::size_t i = 1; i < count; ++i) firsts[i] = std::max(firsts[i], firsts[i - 1] + 1);
  for (std::size_t i = count; i-- > 1;) firsts[i] = std::min(firsts[i], static_cast<docid_t>(documents - (count - i)));
  return firsts;
}

std::vector<docid_t> cut_into_shards(std::span<const std::uint32_t> postings, std::span<const docid_t> documents,
                                     std::size_t count) {
  return cut_into_shards(static_cast<docid_t>(documents.size()), count,
                         [&](docid_t docid) { return std::uint64_t{postings[documents[docid]]}; });
}

std::vector<docid_t> cut_into_shards(const RangeCounts& counts, docid_t documents, std::size_t count) {
  std::vector<docid_t> firsts = cut_into_shards(static_cast<docid_t>(counts.postings.size()), count,
                                                [&](docid_t range) { return counts.postings[range]; });
  for (docid_t& first : firsts) first = std::min(documents, first * counts.documents);
  return firsts;
}

namespace {

/// More ranges would need memory without better cuts.
constexpr std::uint64_t max_ranges = std::uint64_t{1} << 20;
/// Lists with at least this many blocks are long: the ends of their blocks are independent of other lists'.
constexpr std::size_t blocks_of_long_list = 16;
/// Lexicon blocks between releases of the file's pages.
constexpr std::uint64_t blocks_per_release = 1024;

/// Adds up postings by ranges of docIDs. Thread-safe.
class RangeSums {
 public:
  explicit RangeSums(docid_t documents) {
    while ((std::uint64_t{documents} >> shift_) > max_ranges) ++shift_;
    const std::uint64_t ranges = (std::uint64_t{documents} + (std::uint64_t{1} << shift_) - 1) >> shift_;
    sums_ = std::vector<std::atomic<std::uint64_t>>(ranges);
  }
  void add(docid_t docid, std::uint64_t postings) {
    sums_[docid >> shift_].fetch_add(postings, std::memory_order_relaxed);
  }
  RangeCounts counts() const { return {{sums_.begin(), sums_.end()}, docid_t{1} << shift_}; }

 private:
  unsigned shift_ = 0;
  std::vector<std::atomic<std::uint64_t>> sums_;
};

void add_decoded(BlockReader& reader, RangeSums& sums) {
  for (std::size_t block = 0; block < reader.num_blocks(); ++block) {
    reader.load(block);
    for (const docid_t docid : reader.docids()) sums.add(docid, 1);
  }
}

void add_by_rows(const IndexReader& index, const BlockReader& reader, RangeSums& sums) {
  const PostingList& list = reader.list();
  docid_t begin = 0;
  for (std::size_t block = 0; block < list.block_last.size(); ++block) {
    const docid_t last = list.block_last[block];
    if (last < begin || last >= index.num_documents())
      reader.fail(block, "its row's docID is out of range, or not above the previous one");
    const std::uint64_t before = std::uint64_t{block} * index.block_size();
    sums.add(begin + (last - begin) / 2, std::min<std::uint64_t>(index.block_size(), list.df - before));
    begin = last + 1;
  }
}

}  // namespace

std::vector<std::uint32_t> count_postings(const CollectionReader& collection, const Resources& resources) {
  const std::uint64_t bytes = collection.num_documents() * sizeof(std::uint32_t);
  check_order_memory("counting the postings of documents", bytes, resources);
  std::vector<std::uint32_t> counts(collection.num_documents());
  resources.progress->start("count postings", collection.num_documents(), "documents");
  for_each_chunk<ForwardPostings>(collection, posting_reading_bytes(collection), resources.memory_bytes - bytes,
                                  resources, [&](ForwardPostings& forward, std::size_t chunk) {
                                    forward.for_each_document(
                                        collection, chunk, [&](docid_t document, std::span<const Posting> postings) {
                                          counts[document] = static_cast<std::uint32_t>(postings.size());
                                        });
                                  });
  ForwardPostings forward;
  for (const SplitDocument& split : collection.split_documents())
    forward.read_split(collection, split, split.document, [&](std::span<const Posting> postings) {
      counts[split.document] += static_cast<std::uint32_t>(postings.size());
    });
  resources.progress->finish();
  return counts;
}

RangeCounts count_postings(const IndexReader& index) {
  RangeSums sums(index.num_documents());
  tbb::parallel_for(std::uint64_t{0}, index.num_lexicon_blocks(), [&](std::uint64_t block) {
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      BlockReader reader(index, list);
      if (reader.num_blocks() < blocks_of_long_list)
        add_decoded(reader, sums);
      else
        add_by_rows(index, reader, sums);
    });
    if (block % blocks_per_release == blocks_per_release - 1) index.container().release();
  });
  return sums.counts();
}

}  // namespace quern
