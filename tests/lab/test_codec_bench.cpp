#include <algorithm>
#include <numeric>

#include "quern/core/error.hpp"
#include "quern/lab/codec_bench.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/random_corpus.hpp"

namespace quern {
namespace {

/// Every peer, by block and by list.
std::vector<PeerSetUp> peers_of_lists() {
  std::vector<PeerSetUp> peers;
  for (const PeerCodec* peer : all_peers())
    for (const unsigned block_size : {128u, 0u}) peers.push_back({peer, block_size});
  return peers;
}

}  // namespace

TEST_CASE("synthetic lists have the given lengths and mean gap", "[measure]") {
  const BenchLists lists = clustered_lists(100000, 3000, 40, 1);
  CHECK(lists.size() == 100000);
  CHECK(lists.freqs.size() == 100000);
  REQUIRE(lists.ends.size() == 34);
  CHECK(lists.ends[0] == 3000);
  CHECK(lists.ends[33] == 100000);
  const double gaps = std::accumulate(lists.gaps.begin(), lists.gaps.end(), 0.0);
  CHECK(gaps / 100000 == Approx(40.75).epsilon(0.05));
  CHECK(clustered_lists(100000, 3000, 40, 1).gaps == lists.gaps);
  CHECK(clustered_lists(100000, 3000, 40, 2).gaps != lists.gaps);
  CHECK(clustered_lists(0, 10, 40, 1).ends.empty());
}

TEST_CASE("lists of docIDs are stored as encoders expect them", "[measure]") {
  BenchLists lists;
  const std::vector<docid_t> docids = {0, 5, 6};
  const std::vector<freq_t> freqs = {1, 3, 2};
  lists.add(docids, freqs);
  lists.add(docids, freqs);
  CHECK(lists.gaps == std::vector<std::uint32_t>{0, 4, 0, 0, 4, 0});
  CHECK(lists.freqs == std::vector<std::uint32_t>{0, 2, 1, 0, 2, 1});
  CHECK(lists.ends == std::vector<std::size_t>{3, 6});
}

TEST_CASE("codecs are measured at every SIMD level, and the level is restored", "[measure]") {
  const BenchLists lists = clustered_lists(5000, 700, 40, 1);
  const SimdLevel before = simd_level();
  const CodecBench bench =
      measure_codecs(lists, {{all_codecs()[0], {64, 1}}, {all_codecs()[1], {256, 2}}, {all_codecs()[2], {512, 1}}},
                     peers_of_lists(), 2);
  CHECK(simd_level() == before);
  CHECK(bench.lists == 8);
  CHECK(bench.postings == 5000);
  CHECK(bench.memcpy_seconds > 0);
  REQUIRE(bench.figures.size() == 3);
  for (const CodecFigures& figures : bench.figures) {
    INFO(figures.codec);
    CHECK(figures.encode_seconds > 0);
    // Counted over all lists once, not per repeat.
    CHECK(figures.bits.docid_bits > 5000 * 3);
    CHECK(figures.bits.docid_bits < 5000 * 12);
    REQUIRE(figures.decoding.size() == simd_levels().size());
    for (const DecodingTimes& times : figures.decoding) {
      CHECK(times.docid_seconds > 0);
      CHECK(times.freq_seconds > 0);
    }
  }
  REQUIRE(bench.peers.size() == 2 * all_peers().size());
  for (const CodecFigures& figures : bench.peers) {
    INFO(figures.codec);
    CHECK(figures.encode_seconds > 0);
    CHECK(figures.bits.docid_bits >= 5000 * 8);
    CHECK(figures.bits.docid_bits < 5000 * 16);
    REQUIRE(figures.decoding.size() == 1);
    CHECK(figures.decoding.front().docid_seconds > 0);
    CHECK(figures.decoding.front().freq_seconds > 0);
  }
  CHECK_THROWS_AS(measure_codecs({}, {}, {}, 2), InvalidArgument);
  CHECK_THROWS_AS(measure_codecs(lists, {}, {}, 0), InvalidArgument);
}

TEST_CASE("peers decode their own output", "[measure]") {
  const BenchLists lists = clustered_lists(1000, 1000, 300000, 5);
  std::vector<docid_t> docids;
  std::vector<freq_t> freqs;
  docid_t docid = end_docid;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    docids.push_back(docid += lists.gaps[i] + 1);
    freqs.push_back(lists.freqs[i] + 1);
  }
  for (const PeerCodec* peer : all_peers()) {
    for (const auto& [first, n] :
         {std::pair<std::size_t, std::size_t>(0, 1000), {0, 1}, {7, 2}, {128, 127}, {128, 128}}) {
      INFO(peer->name() << " " << first << " " << n);
      const auto wanted_docids = std::span(docids).subspan(first, n);
      const auto wanted_freqs = std::span(freqs).subspan(first, n);
      const docid_t before = first == 0 ? end_docid : docids[first - 1];
      Bytes bytes(peer->max_bytes(n) + over_read_bytes);
      std::vector<std::uint32_t> out(n + over_write_values);
      const std::size_t docid_bytes = peer->encode_docids(wanted_docids, before, bytes.data());
      CHECK(docid_bytes <= peer->max_bytes(n));
      CHECK(peer->decode_docids(bytes.data(), n, before, out.data()) == docid_bytes);
      CHECK(std::equal(wanted_docids.begin(), wanted_docids.end(), out.begin()));
      const std::size_t freq_bytes = peer->encode_freqs(wanted_freqs, bytes.data());
      CHECK(peer->decode_freqs(bytes.data(), n, out.data()) == freq_bytes);
      CHECK(std::equal(wanted_freqs.begin(), wanted_freqs.end(), out.begin()));
    }
  }
}

TEST_CASE("lists are grouped by length, without short ones, none twice", "[measure]") {
  testing::Pipeline pipeline;
  const CollectionReader collection(pipeline.parse(testing::as_jsonl(testing::random_corpus(1, {}))));
  const IndexReader index = testing::Pipeline::open_index(pipeline.build(collection, pipeline.order(collection), {}));
  std::size_t long_lists = 0, long_postings = 0;
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      if (list.df < 17) return;
      ++long_lists;
      long_postings += list.df;
    });
  REQUIRE(long_lists > 5);
  for (const std::string& name : length_groupings()) {
    INFO(name);
    std::vector<LengthGroup> groups = length_groups(name);
    fill_groups(index, 1'000'000, groups);
    std::size_t lists = 0, postings = 0;
    std::uint64_t from = 17;
    for (const LengthGroup& group : groups) {
      CHECK(group.from == from);
      from = group.to;
      lists += group.lists.ends.size();
      postings += group.lists.size();
      std::size_t begin = 0;
      for (const std::size_t end : group.lists.ends) {
        CHECK(end - begin >= group.from);
        CHECK((group.to == 0 || end - begin < group.to));
        begin = end;
      }
    }
    CHECK(from == 0);
    CHECK(lists == long_lists);
    CHECK(postings == long_postings);
    std::vector<LengthGroup> small = length_groups(name);
    fill_groups(index, 100, small);
    for (const LengthGroup& group : small) CHECK(group.lists.size() <= 100);
  }
  CHECK_THROWS_AS(length_groups("tripling"), InvalidArgument);
}

}  // namespace quern
