#include "quern/index/shards/shard_cuts.hpp"

#include <algorithm>

namespace quern {

std::vector<docid_t> cut_into_shards(docid_t documents, std::size_t count,
                                     const std::function<std::uint64_t(docid_t)>& postings) {
  std::uint64_t all = documents;
  for (docid_t docid = 0; docid < documents; ++docid) all += postings(docid);
  std::vector<docid_t> firsts = {0};
  std::uint64_t before = 0;  // of the document at hand
  for (docid_t docid = 0; docid < documents && firsts.size() < count; ++docid) {
    // The next shard begins where its share of all postings does; 128 bits hold the product.
    while (firsts.size() < count &&
           static_cast<unsigned __int128>(before) * count >= static_cast<unsigned __int128>(all) * firsts.size())
      firsts.push_back(docid);
    before += postings(docid) + 1;
  }
  firsts.resize(count, documents);
  if (documents < count) return firsts;
  // A document of many postings must not leave its neighbours none.
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

}  // namespace quern
