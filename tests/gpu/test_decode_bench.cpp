#include "quern/codec/codec.hpp"
#include "quern/measure/gpu/decode_bench.hpp"

#include "catch.hpp"
#include "gpu/skip_without_gpu.hpp"
#include "pipeline/pipeline.hpp"
#include "pipeline/random_corpus.hpp"

/// Lists that a GPU decodes to its memory, which the measurement compares with the CPU's. A warp decodes several small
/// blocks at once there, as nowhere else.
namespace quern {
namespace {

using namespace testing;

/// Builds an index of a corpus and decodes all of its lists that have more than a block.
class DecodedCorpus {
 public:
  DecodedCorpus(std::uint64_t seed, const CorpusShape& shape)
      : collection_(pipeline_.parse(as_jsonl(random_corpus(seed, shape)))), order_(pipeline_.order(collection_)) {}

  void check(const BuildOptions& build) {
    INFO(coding_text(build));
    const IndexReader index = Pipeline::open_index(pipeline_.build(collection_, order_, build));
    gpu::DecodeBenchOptions options;
    options.groups = {{1, 100}, {100, 0}};
    options.repeats = 1;
    NoProgress progress;
    const auto figures = gpu::measure_decoding(index, options, progress);
    REQUIRE(!figures.empty());
    CHECK(figures.back().lengths.from == 100);
    CHECK(figures.back().postings >= 100 * figures.back().lists);
  }

 private:
  Pipeline pipeline_;
  CollectionReader collection_;
  DocumentOrder order_;
};

}  // namespace

TEST_CASE("the GPU decodes lists of every coding to the CPU's postings", "[gpu][codec][property]") {
  SKIP_WITHOUT_GPU();
  DecodedCorpus corpus(37, {2500, 150, 30, false});
  for (const BuildOptions& options : all_codings()) corpus.check(options);
}

TEST_CASE("the GPU decodes blocks that fill no group of lanes", "[gpu][codec][property]") {
  SKIP_WITHOUT_GPU();
  DecodedCorpus corpus(41, {2000, 120, 14, false});
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {2u, 4u, 16u}) {
      BuildOptions options;
      options.codec = codec->name();
      options.codec_options.block_size = block_size;
      corpus.check(options);
    }
  }
}

TEST_CASE("each coding is decoded to memory within bounds", "[gpu][sanitize]") {
  SKIP_WITHOUT_GPU();
  DecodedCorpus corpus(73, {900, 80, 20, false});
  for (const Codec* codec : all_codecs()) {
    for (const unsigned block_size : {64u, 128u, 256u}) {
      check_decoding(corpus, coded(*codec, {block_size, 1}));
    }
  }
}

}  // namespace quern
