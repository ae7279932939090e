#include "gpu/emulated_gpu.hpp"
//
#include <cstring>
#include <string_view>
#include <vector>

#include "quern/gpu/rank/features/find_hits.cuh"
#include "quern/gpu/rank/features/publish_features.cuh"

#include "catch.hpp"
#include "gpu/random_features.hpp"

/// The feature kernels, run by an emulated GPU, compute the CPU's features, bit for bit.
namespace quern {
namespace {

using namespace testing;

constexpr unsigned feature_test_threads = 64;

/// A batch in host memory, in the form that kernels read.
class HostFeatures {
 public:
  HostFeatures(const FeatureExtractor& extractor, const gpu::FeatureBatch& batch, std::uint64_t hits_room)
      : view(batch.view()) {
    const FeatureShard& last = extractor.shards().back();
    section_.resize((last.first_byte + last.forward.section_bytes()) / sizeof(std::uint32_t) + 3);
    for (const FeatureShard& shard : extractor.shards()) {
      const ByteView section = shard.forward.section_part({0, shard.forward.section_bytes()});
      std::memcpy(reinterpret_cast<std::uint8_t*>(section_.data()) + shard.first_byte, section.data(), section.size());
    }
    view.words = batch.gathers() ? batch.words.data() : section_.data();
    view.queries = batch.queries.data();
    view.terms = batch.terms.data();
    view.sought = batch.sought.data();
    view.texts = batch.texts.data();
    view.sequence = batch.sequence.data();
    view.first_follower = batch.first_follower.data();
    view.followers = batch.followers.data();
    view.documents = batch.documents.data();
    streams_.resize(num_document_streams * view.stride, {~0u, ~0u, ~0u, ~0u});
    heads_.resize(view.stride);
    tf_.resize(batch.num_tf, ~0u);
    hits_.resize(hits_room, {~0u, ~0u, ~0u});
    columns_.resize(batch.num_columns * view.stride, -1.5f);
    view.streams = streams_.data();
    view.heads = heads_.data();
    view.tf = tf_.data();
    view.hits = hits_.data();
    view.hits_room = hits_room;
    view.counters = &counters;
    view.slots = batch.slots.data();
    view.column_of = batch.column_of.data();
    view.columns = columns_.data();
  }

  void find() {
    counters = {};
    emulated::run(2, gpu::find_threads, [&] { gpu::find_hits(view); });
  }
  void publish() {
    const unsigned blocks = (view.stride + feature_test_threads - 1) / feature_test_threads * view.num_slots;
    emulated::run(blocks, feature_test_threads, [&] { gpu::publish_features(view); });
  }
  FeatureColumns columns() const { return {columns_.data(), view.num_documents, view.stride}; }
  /// The bytes of documents, unless the batch gathers them.
  std::vector<std::uint32_t>& section() { return section_; }

  gpu::FeatureBatchView view;
  gpu::FeatureCounters counters;

 private:
  std::vector<std::uint32_t> section_;
  std::vector<gpu::StreamHitsView> streams_;
  std::vector<gpu::PageHead> heads_;
  std::vector<std::uint32_t> tf_;
  std::vector<WordHit> hits_;
  std::vector<float> columns_;
};

}  // namespace

TEST_CASE("an emulated GPU computes the features of the CPU, over shards those of the whole index",
          "[gpu_emulated][features][property]") {
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u, 6u}) {
    const FeatureSite site(seed, 40, seed % 2 == 0, seed % 3 + 1);
    RandomBits random(seed);
    for (unsigned i = 0; i < 4; ++i) {
      const emulated::RandomOrder order(seed * 10 + i + 1);
      const std::vector<std::uint32_t> selection = random_selection(random);
      const FeatureExtractor extractor(site.shards(), selection);
      const std::vector<FeatureJob> jobs = random_jobs(site, random, 1 + random.below(5));
      gpu::FeatureBatch batch(extractor, i % 2 == 0);
      add_jobs(batch, extractor, jobs);
      INFO("seed " << seed << ", batch " << i);
      HostFeatures host(extractor, batch, 200000);
      host.find();
      REQUIRE(host.counters.damaged == 0);
      host.publish();
      require_features(FeatureExtractor(site.whole(), selection), jobs, host.columns());
      for (std::uint32_t row = host.view.num_documents; row < host.view.stride; ++row)
        CHECK(host.columns().column(0)[row] == 0);
    }
  }
}

TEST_CASE("an emulated GPU counts hits that don't fit", "[gpu_emulated][features]") {
  const FeatureSite site(7, 40);
  RandomBits random(7);
  const FeatureExtractor extractor(site.whole(), select_features("all"));
  const std::vector<FeatureJob> jobs = random_jobs(site, random, 4);
  gpu::FeatureBatch batch(extractor, false);
  add_jobs(batch, extractor, jobs);
  HostFeatures all(extractor, batch, 200000);
  all.find();
  REQUIRE(all.counters.hits > 100);
  HostFeatures few(extractor, batch, all.counters.hits / 3);
  few.find();
  few.publish();  // stays within the space
  CHECK(few.counters.hits == all.counters.hits);
  HostFeatures enough(extractor, batch, all.counters.hits);
  enough.find();
  enough.publish();
  require_features(extractor, jobs, enough.columns());
}

TEST_CASE("an emulated GPU stays within damaged documents", "[gpu_emulated][features][damage]") {
  const FeatureSite site(8, 30);
  const FeatureExtractor extractor(site.whole(), select_features("all"));
  unsigned damaged = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    RandomBits random(seed);
    const std::vector<FeatureJob> jobs = random_jobs(site, random, 3);
    gpu::FeatureBatch batch(extractor, false);
    add_jobs(batch, extractor, jobs);
    gpu::FeatureBatch gathered(extractor, true);
    add_jobs(gathered, extractor, jobs);
    if (seed % 2 == 0 && !gathered.words.empty()) {
      for (unsigned i = 0; i < 200; ++i)
        gathered.words[random.below(gathered.words.size())] = static_cast<std::uint32_t>(random.next());
    }
    HostFeatures host(extractor, seed % 2 == 0 ? gathered : batch, 100000);
    for (unsigned i = 0; i < 200; ++i)
      host.section()[random.below(host.section().size())] = static_cast<std::uint32_t>(random.next());
    host.find();
    host.publish();
    damaged += host.counters.damaged;
  }
  CHECK(damaged > 10);
}

TEST_CASE("a segment is read on devices as on the host", "[gpu_emulated][features][property]") {
  for (const std::uint64_t seed : {1u, 2u}) {
    const FeatureSite site(seed, 30, seed == 2);
    const ForwardReader& forward = site.forward();
    std::vector<std::uint32_t> words(forward.section_bytes() / sizeof(std::uint32_t) + 3);
    const ByteView section = forward.section_part({0, forward.section_bytes()});
    std::memcpy(words.data(), section.data(), section.size());
    for (docid_t docid = 0; docid < forward.num_documents(); ++docid) {
      const ForwardReader::Range range = forward.document_range(docid);
      gpu::SegmentCursor cursor{{words.data()}, range.from, range.to};
      const std::uint64_t head[] = {cursor.varint(), cursor.varint(), cursor.varint()};
      const StaticNumbers numbers = forward.for_each_segment(docid, [&](const ForwardSegment& segment) {
        const gpu::DeviceSegment found = gpu::read_segment(cursor, forward.manifest().index_terms);
        REQUIRE(cursor.sound);
        for (term_t number = 0; number < forward.manifest().index_terms; ++number)
          CHECK(gpu::id_of_term({words.data()}, found, number) == segment.id_of(number));
        for (const std::string_view text : {"anchoronly1", "anchoronly", "anchoronly3", "example", "http", "a", "zz"})
          CHECK(gpu::id_of_literal({words.data()}, found, reinterpret_cast<const std::uint8_t*>(text.data()),
                                   static_cast<std::uint32_t>(text.size())) == segment.id_of(text));
      });
      CHECK(cursor.at == range.to);
      CHECK(head[0] == numbers.url_bytes);
      CHECK(head[1] == numbers.url_depth);
      CHECK(head[2] == numbers.links);
    }
  }
}

}  // namespace quern
