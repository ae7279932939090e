#include "quern/core/random.hpp"
#include "quern/rank/features/document_hits.hpp"
#include "quern/rank/features/feature_families.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("adjacent pairs are the same from followers and from the sequence", "[features][property]") {
  RandomBits random(3);
  std::uint64_t met = 0;
  for (int round = 0; round < 200; ++round) {
    FeatureQuery query;
    const std::uint64_t terms = 1 + random.below(30);
    query.terms.resize(terms);
    query.texts.resize(terms);
    query.numbers.resize(terms);
    for (std::uint64_t i = random.below(80); i > 0; --i)
      query.sequence.push_back(static_cast<std::uint32_t>(random.below(terms)));
    query.prepare();
    std::vector<WordHit> hits;
    for (std::uint32_t i = 0; i < 300; ++i)
      hits.push_back({static_cast<std::uint32_t>(random.below(terms)), i + i / 20, i / 7});
    StreamView stream;
    stream.query = query.view();
    stream.hits = hits.data();
    stream.num_hits = static_cast<std::uint32_t>(hits.size());
    double by_followers = 0, by_sequence = 0;
    OrderedPairs::publish(stream, &by_followers);
    stream.query.first_follower = stream.query.followers = nullptr;
    OrderedPairs::publish(stream, &by_sequence);
    CHECK(by_followers == by_sequence);
    met += by_sequence > 0;
  }
  CHECK(met > 100);
}

}  // namespace quern
