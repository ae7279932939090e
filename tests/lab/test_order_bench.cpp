#include <cmath>

#include "quern/lab/measuring.hpp"
#include "quern/lab/order_bench.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "index/pipeline/pipeline.hpp"
#include "index/pipeline/random_corpus.hpp"

namespace quern {

TEST_CASE("Entropy is computed from the shares of values", "[measure]") {
  Histogram histogram;
  CHECK(histogram.bits_per_value() == 0);
  for (int i = 0; i < 4; ++i) histogram.add(7);
  CHECK(histogram.bits_per_value() == 0);
  for (int i = 0; i < 2; ++i) histogram.add(0);
  for (int i = 0; i < 2; ++i) histogram.add(0xffffffff);
  CHECK(histogram.bits_per_value() == Approx(1.5));
}

TEST_CASE("An order's figures are those of the indexes built in that order", "[order][measure]") {
  testing::Pipeline pipeline;
  const auto parsed = pipeline.parse(testing::as_jsonl(testing::random_corpus(5, {})));
  const CollectionReader collection(parsed);
  for (const OrderMethod& method : all_orders()) {
    OrderOptions options;
    options.by = method.by;
    INFO(method.name());
    const OrderFigures figures = measure_order(collection, options, {}, 64, pipeline.resources);
    CHECK(figures.by == method.name());
    CHECK(figures.seconds >= 0);
    REQUIRE(figures.codecs.size() == all_codecs().size());
    for (std::size_t i = 0; i < all_codecs().size(); ++i) {
      BuildOptions build;
      build.codec = all_codecs()[i]->name;
      build.codec_options.block_size = 64;
      pipeline.build(collection, pipeline.order(collection, options.by), build);
      const IndexManifest& manifest = pipeline.report.manifest;
      const auto postings = static_cast<double>(manifest.postings);
      CHECK(figures.codecs[i].codec == all_codecs()[i]);
      CHECK(figures.codecs[i].docid == static_cast<double>(manifest.coded.docid_bits) / postings);
      CHECK(figures.codecs[i].freq == static_cast<double>(manifest.coded.freq_bits) / postings);
      CHECK(figures.codecs[i].directory == 64 * static_cast<double>(manifest.blocks) / postings);
      CHECK(figures.gap_entropy_bits > 0);
      CHECK(figures.gap_entropy_bits < std::log2(collection.num_documents()));
    }
  }
}

TEST_CASE("Peak memory counts only memory used since the reset", "[measure]") {
  REQUIRE(reset_peak_memory());
  REQUIRE(peak_memory_bytes());
  constexpr std::uint64_t held_bytes = 64 << 20;
  const std::uint64_t before = *peak_memory_bytes();
  {
    const Bytes held(held_bytes, 1);
    keep(held.data());  // keeps clang from optimizing the vector away
  }
  CHECK(*peak_memory_bytes() > before + held_bytes / 2);
  REQUIRE(reset_peak_memory());
  // AddressSanitizer keeps freed memory for a while.
  if (!testing::sanitized) CHECK(*peak_memory_bytes() < before + held_bytes / 2);
}

}  // namespace quern
