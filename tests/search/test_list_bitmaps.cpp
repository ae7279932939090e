#include <tbb/parallel_for.h>

#include <algorithm>

#include "quern/formats/posting_reader.hpp"
#include "quern/search/list_bitmaps.hpp"
#include "quern/search/query_engine.hpp"
#include "quern/search/union_cost.hpp"

#include "catch.hpp"
#include "index/pipeline/query_checks.hpp"
#include "index/pipeline/weighted_corpus.hpp"
#include "search/read_queries.hpp"

/// Bitmaps of lists, and block-max pruning over several windows of them.
namespace quern {
namespace {

using namespace testing;

/// Two whole windows, and a third that ends within a block.
constexpr std::size_t bitmap_documents = 2 * bitmap_window + 1000;

class WeightedIndex {
 public:
  explicit WeightedIndex(std::uint32_t max_weight, unsigned block_size = 64, unsigned bits = 8)
      : WeightedIndex(random_weights(max_weight, bitmap_documents, 60, max_weight), block_size, bits) {}
  explicit WeightedIndex(std::vector<WeightedDocument> documents_, unsigned block_size = 64, unsigned bits = 8)
      : documents(std::move(documents_)),
        collection_(parse_weights(pipeline_, as_vector_jsonl(documents), {bits})),
        order(pipeline_.order(collection_, OrderBy::random)),
        index(Pipeline::open_index(pipeline_.build(collection_, order, options_of(block_size)))) {}

 private:
  static BuildOptions options_of(unsigned block_size) {
    BuildOptions options;
    options.codec_options.block_size = block_size;
    return options;
  }

  Pipeline pipeline_;

 public:
  const std::vector<WeightedDocument> documents;

 private:
  CollectionReader collection_;

 public:
  const DocumentOrder order;
  const IndexReader index;
};

/// Documents whose terms weigh the same, so that many blocks have a document that reaches their bound.
std::vector<WeightedDocument> even_weights() {
  RandomBits random(12);
  auto documents = random_weights(255, bitmap_documents, 60, 255);
  for (WeightedDocument& document : documents)
    for (const auto weight = static_cast<std::uint32_t>(1 + random.below(1 + random.below(255))); auto& term : document)
      term.second = weight;
  return documents;
}

/// The documents of a window, relative to its begin, with their impacts.
std::map<docid_t, std::uint32_t> postings_of(const BitmapWindow& window) {
  std::map<docid_t, std::uint32_t> postings;
  for (unsigned block = 0; block < bitmap_block; ++block) {
    const std::uint8_t* impact = window.impacts + window.ranks[block];
    for (unsigned i = 0; i < bitmap_block; ++i)
      if ((window.bits[block] >> i & 1) != 0) postings[block * bitmap_block + i] = *impact++;
  }
  return postings;
}

void check_bitmap(const IndexReader& index, const PostingList& list, const ListBitmap& bitmap) {
  std::vector<std::map<docid_t, std::uint32_t>> windows(bitmap_documents / bitmap_window + 1);
  for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next())
    windows[cursor.docid() / bitmap_window][cursor.docid() % bitmap_window] = cursor.freq();
  for (std::size_t i = 0; i < windows.size(); ++i) {
    REQUIRE(postings_of(bitmap.window(i, 1)) == windows[i]);
    std::array<std::uint32_t, bitmap_block> maxima = {};
    for (const auto& [document, impact] : windows[i])
      maxima[document / bitmap_block] = std::max(maxima[document / bitmap_block], impact);
    const std::uint8_t* stored = bitmap.maxima(i, 1).impacts;
    REQUIRE(std::equal(maxima.begin(), maxima.end(), stored));
  }
}

/// Terms of many documents and of few, some with weights that bitmaps can't take.
std::vector<std::vector<QueryTerm>> weighted_queries() {
  RandomBits random(7);
  std::vector<std::vector<QueryTerm>> queries;
  for (int i = 0; i < 12; ++i) {
    std::vector<QueryTerm> query;
    if (i % 4 > 0) query.push_back({"##often", i % 4 == 3 ? 40000.0 : 7.0});
    if (i % 3 > 0) query.push_back({"everywhere", static_cast<double>(1 + random.below(300))});
    for (int some = 0; some < i; ++some)
      query.push_back({"T" + std::to_string(random.below(60)), static_cast<double>(1 + random.below(300))});
    if (!query.empty()) queries.push_back(std::move(query));
  }
  return queries;
}

std::vector<ScoredDocument> first_of(std::vector<ScoredDocument> ranking, std::size_t k) {
  ranking.resize(std::min(k, ranking.size()));
  return ranking;
}

}  // namespace

TEST_CASE("a bitmap holds its list", "[query][bitmaps][property]") {
  for (const std::uint32_t max_weight : {255u, 60u})  // 8 bits, and less
    for (const unsigned block_size : {2u, 64u}) {
      const WeightedIndex weighted(max_weight, block_size);
      INFO("weights up to " << max_weight << ", blocks of " << block_size);
      ListBitmaps bitmaps(weighted.index, std::uint64_t{1} << 30);
      std::size_t made = 0;
      for (const char* term : {"everywhere", "##often", "T0", "T1", "T50", "T59"}) {
        const auto list = weighted.index.find(term);
        REQUIRE(list);
        const ListBitmap* bitmap = bitmaps.find(*list);
        CHECK((bitmap != nullptr) == (list->df >= bitmap_documents / 10));
        if (!bitmap) continue;
        CHECK(bitmaps.find(*list) == bitmap);
        check_bitmap(weighted.index, *list, *bitmap);
        ++made;
      }
      CHECK(made >= 2);
      CHECK(made < 6);
    }
}

TEST_CASE("lists with wide impacts have no bitmaps", "[query][bitmaps]") {
  const WeightedIndex weighted(60000, 64, 16);
  ListBitmaps bitmaps(weighted.index, std::uint64_t{1} << 30);
  CHECK(bitmaps.find(*weighted.index.find("everywhere")) == nullptr);
}

TEST_CASE("bitmaps stay within their memory, and are made once", "[query][bitmaps]") {
  const WeightedIndex weighted(255);
  const PostingList first = *weighted.index.find("everywhere"), second = *weighted.index.find("##often");
  ListBitmaps one(weighted.index, ListBitmap::bytes(weighted.index, first));
  const ListBitmap* made = one.find(first);
  CHECK(made != nullptr);
  CHECK(one.find(second) == nullptr);
  CHECK(one.find(first) == made);
  ListBitmaps none(weighted.index, ListBitmap::bytes(weighted.index, first) - 1);
  CHECK(none.find(first) == nullptr);
  ListBitmaps shared(weighted.index, std::uint64_t{1} << 30);
  std::vector<const ListBitmap*> found(200);
  tbb::parallel_for(std::size_t{0}, found.size(),
                    [&](std::size_t i) { found[i] = shared.find(i % 2 == 0 ? first : second); });
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == found[i % 2]);
}

TEST_CASE("block-max pruning finds the best documents of many windows", "[query][bitmaps][property]") {
  for (const unsigned block_size : {2u, 64u}) {
    const WeightedIndex weighted(255, block_size);
    const QueryEngine whole(weighted.index, {}), without_memory(weighted.index, {}, 1, QueryMemory(2 << 20, 1));
    DocumentSet passing(static_cast<docid_t>(bitmap_documents));
    for (docid_t docid = 4000; docid < 4200; docid += 3) passing.add(docid);
    for (const auto& query : weighted_queries()) {
      INFO(query_vector_text(query));
      const auto all = best_documents(weighted.documents, weighted.order.documents, query, false, bitmap_documents);
      auto of_passing = all;
      std::erase_if(of_passing, [&](const ScoredDocument& document) { return !passing.contains(document.docid); });
      for (const std::size_t k : {1, 10, 1000, 10000}) {
        for (const QueryEngine* engine : {&whole, &without_memory})
          require_same(engine->search(engine->reader().use(query), algorithm_named("bmp"), k), first_of(all, k));
        require_same(whole.search(whole.reader().use(query), algorithm_named("bmp"), k, nullptr, &passing),
                     first_of(of_passing, k));
      }
    }
  }
}

TEST_CASE("block-max pruning misses no document while the threshold rises within a window",
          "[query][bitmaps][property]") {
  const WeightedIndex weighted(even_weights());
  const QueryEngine engine(weighted.index, {});
  RandomBits random(11);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<QueryTerm> query = {{"##often", static_cast<double>(1 + random.below(300))},
                                    {"everywhere", static_cast<double>(1 + random.below(300))}};
    for (std::uint64_t some = random.below(4); some > 0; --some)
      query.push_back({"T" + std::to_string(random.below(10)), static_cast<double>(1 + random.below(300))});
    INFO(query_vector_text(query));
    const QueryTerms terms = engine.reader().use(query);
    const std::size_t k = 1 + random.below(10);
    require_same(engine.search(terms, algorithm_named("bmp"), k), engine.search(terms, algorithm_named("or"), k));
  }
}

TEST_CASE("bitmaps are estimated to make frequent terms cheap, for sums of integers only", "[query][union_cost]") {
  const WeightedIndex weighted(255);
  const QueryEngine engine(weighted.index, {});
  ScoringContext context = engine.scoring_context();
  bool all_found = false;
  const auto frequent = engine.lists_of(query_of({"everywhere", "##often"}), all_found);
  const UnionCosts costs = union_costs(context, frequent, 1000);
  CHECK(costs.bitmaps < costs.exhaustive);
  CHECK(costs.most_pivots >= costs.pivots);
  context.bitmaps = nullptr;
  CHECK(union_costs(context, frequent, 1000).bitmaps > costs.exhaustive);
}

}  // namespace quern
