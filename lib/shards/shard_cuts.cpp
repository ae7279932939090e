#include "quern/shards/shard_cuts.hpp"

#include <algorithm>

namespace quern {

std::vector<docid_t> cut_into_shards(std::span<const std::uint32_t> lengths, std::size_t count) {
  const std::size_t documents = lengths.size();
  std::uint64_t all = documents;
  for (const std::uint32_t length : lengths) all += length;
  std::vector<docid_t> firsts = {0};
  std::uint64_t before = 0;  // of the document at hand
  for (std::size_t docid = 0; docid < documents && firsts.size() < count; ++docid) {
    // The next shard begins where its share of all tokens does; 128 bits hold the product.
    while (firsts.size() < count &&
           static_cast<unsigned __int128>(before) * count >= static_cast<unsigned __int128>(all) * firsts.size())
      firsts.push_back(static_cast<docid_t>(docid));
    before += std::uint64_t{lengths[docid]} + 1;
  }
  firsts.resize(count, static_cast<docid_t>(documents));
  if (documents < count) return firsts;
  // A document of many tokens must not leave its neighbours none.
  for (std::size_t i = 1; i < count; ++i) firsts[i] = std::max(firsts[i], firsts[i - 1] + 1);
  for (std::size_t i = count; i-- > 1;) firsts[i] = std::min(firsts[i], static_cast<docid_t>(documents - (count - i)));
  return firsts;
}

}  // namespace quern
