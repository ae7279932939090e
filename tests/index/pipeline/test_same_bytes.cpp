#include <tbb/global_control.h>

#include <algorithm>

#include "quern/core/random.hpp"
#include "quern/index/inverter.hpp"
#include "quern/index/verify_index.hpp"

#include "catch.hpp"
#include "index/met_lists.hpp"
#include "index/pipeline/model_index.hpp"
#include "index/pipeline/pipeline.hpp"

/// The written bytes never depend on threads or memory.
namespace quern {
namespace {

using namespace testing;

constexpr std::uint64_t min_index_memory = 17 << 20;

struct Written {
  Bytes collection, index;
  std::size_t spilled_runs = 0;
};

Written write_all(const std::string& corpus, unsigned threads, std::uint64_t parse_memory, std::uint64_t index_memory,
                  std::uint64_t batch_bytes) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
  Pipeline pipeline;
  pipeline.batch_bytes = batch_bytes;
  pipeline.resources.threads = threads;
  pipeline.resources.memory_bytes = parse_memory;
  const StageFile file = pipeline.parse(corpus);
  const CollectionReader collection(file);
  collection.container().verify(pipeline.resources);
  collection.verify_contents(pipeline.resources);
  pipeline.resources.memory_bytes = index_memory;
  const DocumentOrder order = pipeline.order(collection, OrderBy::url, 1);
  Written written;
  BuildOptions options;
  options.quantize_bits = 8;
  written.index = bytes_of(*pipeline.build(collection, order, options));
  written.collection = bytes_of(*file);
  written.spilled_runs = pipeline.report.spilled_runs;
  return written;
}

bool by_list(const Posting& a, const Posting& b) { return a.term != b.term ? a.term < b.term : a.docid < b.docid; }

}  // namespace

TEST_CASE("collection and index have the same bytes for any threads and memory", "[index][collection][property]") {
  const std::string corpus = as_jsonl(random_corpus(53, {400, 3000, 150, true}));
  const Written wanted = write_all(corpus, 1, 1 << 30, 1 << 30, 4096);
  for (const unsigned threads : {1u, 2u, 4u}) {
    for (const std::uint64_t parse_memory : {std::uint64_t{1} << 17, std::uint64_t{1} << 20, std::uint64_t{32} << 20}) {
      INFO(threads << " threads, " << parse_memory << " bytes of memory");
      const Written written = write_all(corpus, threads, parse_memory, std::max(parse_memory, min_index_memory), 4096);
      CHECK(written.collection == wanted.collection);
      CHECK(written.index == wanted.index);
    }
  }
}

TEST_CASE("an index has the same bytes whether or not its postings fit in memory", "[index][property]") {
  // Documents without repeated words give the most postings.
  std::string corpus;
  RandomBits random(59);
  for (int document = 0; document < 1600; ++document) {
    corpus += "{\"id\":\"" + std::to_string(document) + "\",\"contents\":\"";
    for (int i = 0; i < 400; ++i) corpus += "t" + std::to_string(i) + (random.below(9) == 0 ? "x " : " ");
    corpus += "\"}\n";
  }
  const Written wanted = write_all(corpus, 2, 1 << 30, 1 << 30, 1 << 20);
  CHECK(wanted.spilled_runs == 0);
  const Written spilled = write_all(corpus, 2, 1 << 30, min_index_memory, 1 << 20);
  CHECK(spilled.spilled_runs > 1);
  CHECK(spilled.index == wanted.index);
}

TEST_CASE("an index is refused if memory can't hold its tables", "[index]") {
  Pipeline pipeline;
  const CollectionReader collection(pipeline.parse(as_jsonl(random_corpus(1, {20, 20, 20, false}))));
  const DocumentOrder order = pipeline.order(collection);
  pipeline.resources.memory_bytes = 16 << 20;
  CHECK_THROWS_AS(pipeline.build(collection, order, {}), InvalidArgument);
}

TEST_CASE("spilled, merged and long lists are the sorted postings", "[index][property]") {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 2);
  const testing::TemporaryFolder folder;
  RandomBits random(61);
  std::vector<Posting> postings;
  for (docid_t docid = 0; docid < 9000; ++docid) {
    for (term_t term = 0; term < 20; ++term)
      if (random.below(term + 1) == 0)
        postings.push_back({term * term * 1000, docid, static_cast<freq_t>(1 + random.below(1u << random.below(31)))});
  }
  auto wanted = postings;
  std::sort(wanted.begin(), wanted.end(), by_list);
  for (const std::uint64_t memory : {std::uint64_t{1} << 10, std::uint64_t{1} << 18, std::uint64_t{1} << 28}) {
    INFO(memory << " bytes of memory");
    Inverter inverter(folder.path(""), memory, 2);
    for (std::size_t from = 0; from < postings.size();) {
      // Documents are complete and in the collection's order, here docIDs.
      std::size_t to = from + 1;
      while (to < postings.size() && postings[to].docid == postings[from].docid) ++to;
      inverter.add(std::span(postings).subspan(from, to - from));
      from = to;
    }
    const auto source = inverter.finish();
    const testing::MetLists found = testing::met_lists(*source);
    CHECK((inverter.num_runs() > 1) == (memory < 1 << 20));
    CHECK((found.long_lists > 0) == (memory < 1 << 20));
    CHECK(found.postings == wanted);
  }
}

}  // namespace quern
