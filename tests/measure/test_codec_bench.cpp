#include <numeric>

#include "quern/core/error.hpp"
#include "quern/measure/codec_bench.hpp"

#include "catch.hpp"

namespace quern {

TEST_CASE("made-up lists have the lengths and the mean gap that are asked for", "[measure]") {
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

TEST_CASE("lists of docIDs are taken as encoders take them", "[measure]") {
  BenchLists lists;
  const std::vector<docid_t> docids = {0, 5, 6};
  const std::vector<freq_t> freqs = {1, 3, 2};
  lists.add(docids, freqs);
  lists.add(docids, freqs);
  CHECK(lists.gaps == std::vector<std::uint32_t>{0, 4, 0, 0, 4, 0});
  CHECK(lists.freqs == std::vector<std::uint32_t>{0, 2, 1, 0, 2, 1});
  CHECK(lists.ends == std::vector<std::size_t>{3, 6});
}

TEST_CASE("codecs are measured at every level, and none is left set", "[measure]") {
  const BenchLists lists = clustered_lists(5000, 700, 40, 1);
  const SimdLevel before = simd_level();
  const CodecBench bench =
      measure_codecs(lists, {{all_codecs()[0], {64, 1}}, {all_codecs()[1], {256, 2}}, {all_codecs()[2], {512, 1}}}, 2);
  CHECK(simd_level() == before);
  CHECK(bench.lists == 8);
  CHECK(bench.postings == 5000);
  CHECK(bench.memcpy_seconds > 0);
  REQUIRE(bench.figures.size() == 3);
  for (const CodecFigures& figures : bench.figures) {
    INFO(figures.set_up.codec->name());
    CHECK(figures.encode_seconds > 0);
    // Once over all lists, not once a repeat.
    CHECK(figures.bits.docid_bits > 5000 * 3);
    CHECK(figures.bits.docid_bits < 5000 * 12);
    REQUIRE(figures.decoding.size() == simd_levels().size());
    for (const DecodingTimes& times : figures.decoding) {
      CHECK(times.docid_seconds > 0);
      CHECK(times.freq_seconds > 0);
    }
  }
  CHECK_THROWS_AS(measure_codecs({}, {}, 2), InvalidArgument);
  CHECK_THROWS_AS(measure_codecs(lists, {}, 0), InvalidArgument);
}

}  // namespace quern
