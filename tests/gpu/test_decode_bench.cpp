#include "quern/codec/codec.hpp"
#include "quern/lab/gpu/decode_bench.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "gpu/skip_without_gpu.hpp"

/// Lists decoded to memory by a GPU, which the benchmark compares with the CPU's. Only here does a warp decode several
/// small blocks at once.
namespace quern {
namespace {

using namespace testing;

/// Builds an index of a corpus, and decodes all lists of more than one block.
void check_decoding(IndexedCorpus& corpus, const BuildOptions& build) {
  INFO(coding_text(build));
  gpu::DecodeBenchOptions options;
  options.groups = {{1, 100}, {100, 0}};
  options.repeats = 1;
  NoProgress progress;
  const auto figures = gpu::measure_decoding(corpus.index(build), options, progress);
  REQUIRE(!figures.empty());
  CHECK(figures.back().lengths.from == 100);
  CHECK(figures.back().postings >= 100 * figures.back().lists);
}

}  // namespace

TEST_CASE("the GPU decodes lists of every coding to the CPU's postings", "[gpu][codec][property]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(37, {2500, 150, 30, false});
  for (const BuildOptions& options : all_codings()) check_decoding(corpus, options);
}

TEST_CASE("the GPU decodes blocks smaller than a group of lanes", "[gpu][codec][property]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(41, {2000, 120, 14, false});
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {2u, 4u, 16u}) check_decoding(corpus, coded(*codec, {block_size}));
  }
}

TEST_CASE("each coding is decoded to memory within bounds", "[gpu][sanitize]") {
  SKIP_WITHOUT_GPU();
  IndexedCorpus corpus(73, {900, 80, 20, false});
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {64u, 128u, 256u}) {
      check_decoding(corpus, coded(*codec, {block_size, 1}));
    }
  }
}

}  // namespace quern
