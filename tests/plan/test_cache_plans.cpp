#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "quern/core/error.hpp"
#include "quern/io/checksum.hpp"
#include "quern/plan/cache_plan.hpp"

#include "catch.hpp"
#include "gpu/indexed_corpus.hpp"
#include "plan/cached_pages.hpp"

/// Logs, admission and plans against straightforward implementations of their definitions.
namespace quern {

using namespace testing;

namespace {

/// Terms as often as they occur.
std::vector<std::string> words_of(const LogQuery& query) {
  std::vector<std::string> words;
  for (const QueryTerm& term : query.terms) words.insert(words.end(), static_cast<std::size_t>(term.weight), term.term);
  return words;
}

}  // namespace

TEST_CASE("a log's distinct queries are those with different terms, with any amount of memory", "[cache]") {
  Pipeline pipeline;
  RandomBits random(3);
  std::map<std::vector<std::string>, std::vector<std::uint64_t>> wanted;
  pipeline.resources.memory_bytes = 1 << 16;
  LogQueries log({}, pipeline.resources);
  log.add("");
  for (std::uint64_t place = 1; place <= 20000; ++place) {
    // One query is so frequent that its positions exceed a sixteenth of the memory.
    std::vector<std::string> terms;
    for (std::uint64_t size = random.below(4); terms.size() < size;)
      terms.push_back("w" + std::to_string(random.below(60)));
    if (terms.empty()) terms = {"frequent"};
    log.add(text_of(terms));
    std::sort(terms.begin(), terms.end());
    wanted[terms].push_back(place);
  }
  CHECK(log.queries() == 20001);
  std::map<std::vector<std::string>, std::vector<std::uint64_t>> found;
  std::size_t calls_with_frequent = 0;
  const std::uint64_t distinct = log.for_each([&](std::span<const LogQuery> queries) {
    CHECK(queries.size() < 200);  // a sixteenth of the memory, with some 60 bytes per term
    for (const LogQuery& query : queries) {
      CHECK(query.places.size() < 1000);
      std::vector<std::uint64_t>& places = found[words_of(query)];
      if (words_of(query) == std::vector<std::string>{"frequent"}) ++calls_with_frequent;
      places.insert(places.end(), query.places.begin(), query.places.end());
    }
  });
  CHECK(calls_with_frequent > 5);
  CHECK(distinct == wanted.size());
  CHECK((found == wanted));
}

TEST_CASE("policies admit blocks according to their definitions, within the budget", "[cache][property]") {
  const CachedPages pages(tiny);
  const CacheBlocks blocks(pages.index, 2 * tiny);
  const LogDemand demand = demand_of(pages, blocks, {3, 2 * tiny, VisitKind::visited});
  std::vector<PostingList> all;
  for (std::uint64_t block = 0; block < pages.index.num_lexicon_blocks(); ++block)
    pages.index.for_each_list(block, [&](std::string_view, const PostingList& list) { all.push_back(list); });
  std::map<term_t, ListDemand> demands;
  for (const ListDemand& list : demand.lists) demands[list.term] = list;
  const auto queries_of = [&](const PostingList& list) {
    const auto found = demands.find(list.number);
    return found == demands.end() ? 0 : found->second.queries;
  };
  const std::uint64_t whole = blocks.index_bytes();
  for (const double lambda : {1.0, 0.6, 0.01}) {
    for (const std::uint64_t budget : {std::uint64_t{0}, whole / 50, whole / 7, whole / 2, whole, 2 * whole}) {
      for (const CachePolicy& policy : all_cache_policies()) {
        INFO(policy.name << ", budget " << budget << ", lambda " << lambda);
        CacheAdmission admission(blocks, budget, lambda);
        policy.admit(demand, admission);
        const auto limit = [&](const PostingList& list) -> std::uint64_t {
          if (list.df <= tiny) return 0;  // transferred with its queries
          const auto postings = static_cast<std::uint64_t>(lambda * static_cast<double>(list.df));
          return postings == list.df ? blocks.count(list) : std::max<std::uint64_t>(1, postings / blocks.size());
        };
        std::map<term_t, std::uint64_t> wanted;
        std::uint64_t room = budget;
        if (policy.name == "vfb") {
          // (visits, f_t) descending, (term, block) ascending.
          using Key = std::tuple<std::uint64_t, std::uint64_t, term_t, std::uint64_t>;
          std::vector<Key> keys;
          for (const PostingList& list : all)
            for (std::uint64_t b = 0; b < limit(list); ++b) {
              const std::uint64_t f = queries_of(list),
                                  visits = f == 0 ? 0 : demand.visits_of(demands.at(list.number))[b];
              keys.emplace_back(~visits, ~f, list.number, b);
            }
          std::sort(keys.begin(), keys.end());
          std::set<term_t> closed;
          for (const auto& [visits, f, term, b] : keys) {
            const PostingList list = pages.index.list(term);
            const std::uint64_t bytes = blocks.bytes(list, b + 1) - blocks.bytes(list, b);
            if (closed.count(term) > 0 || bytes > room) {
              closed.insert(term);
              continue;
            }
            room -= bytes;
            ++wanted[term];
          }
        } else {
          std::vector<PostingList> sorted = all;
          std::stable_sort(sorted.begin(), sorted.end(), [&](const PostingList& a, const PostingList& b) {
            if (policy.name == "longer-than-block") return a.df > b.df;
            if (policy.name == "qtf") return queries_of(a) > queries_of(b);
            return queries_of(a) * b.df > queries_of(b) * a.df;
          });
          for (const PostingList& list : sorted) {
            const std::uint64_t bytes = blocks.bytes(list, limit(list));
            if (bytes > room) continue;
            room -= bytes;
            wanted[list.number] = limit(list);
          }
        }
        std::map<term_t, std::uint64_t> found;
        for (const PostingList& list : all)
          if (admission.blocks_of(list.number) > 0) found[list.number] = admission.blocks_of(list.number);
        REQUIRE((found == wanted));
        REQUIRE(admission.bytes() == budget - room);
      }
    }
  }
  CHECK_THROWS_AS(CacheAdmission(blocks, 1, 0), InvalidArgument);
  CHECK_THROWS_AS(CacheAdmission(blocks, 1, 1.01), InvalidArgument);
  CHECK_THROWS_AS(CacheBlocks(pages.index, 17), InvalidArgument);
}

TEST_CASE("a list's size is its coded words, and its impacts if scores are quantized", "[cache][plan][property]") {
  IndexedCorpus corpus(31, {700, 60, 30, false});
  RandomBits random(31);
  for (const Codec* codec : all_codecs()) {
    for (const unsigned bits : {0u, 8u, 13u}) {
      const unsigned block_size = codec == all_codecs().front() ? tiny : 64;
      const IndexReader index = corpus.index(coded(*codec, {block_size, 1}, bits));
      for (const bool with_impacts : {false, true}) {
        INFO(codec->name << ", " << bits << " bits, with impacts " << with_impacts);
        const std::uint64_t ratio = 1 + random.below(3);
        const CacheBlocks blocks(index, ratio * block_size, default_resources(), with_impacts);
        std::uint64_t sum = 0, kept = 0;
        blocks.for_each_list([&](const PostingList& list) {
          const std::uint64_t impact_words = with_impacts && bits > 0 ? list.impacts.size() : 0;
          const std::uint64_t whole = 4 * (list.words.size() + impact_words);
          sum += whole;
          REQUIRE(blocks.bytes(list, 0) == 0);
          for (std::uint64_t n = 1; n < blocks.count(list); ++n) {
            // Impacts have the list's width; each block begins at a new word.
            const std::uint64_t words_per_block = (std::uint64_t{block_size} * list.impact_width + 31) / 32;
            const std::uint64_t impacts = impact_words > 0 ? n * ratio * words_per_block : 0;
            REQUIRE(blocks.bytes(list, n) == 4 * (list.block_offset[n * ratio] + impacts));
          }
          REQUIRE(blocks.bytes(list, blocks.count(list)) == (list.df > block_size ? whole : 0));
          kept += list.df > block_size ? whole : 0;
        });
        // Each section ends with some zeros.
        CHECK(blocks.index_bytes() >= sum);
        CHECK(blocks.index_bytes() <= sum + 128);
        CHECK(blocks.kept_bytes() == kept);
        CHECK(kept > 0);
      }
    }
  }
}

TEST_CASE("a plan's base size is the bytes of the lists that queries with its scores need", "[cache][plan]") {
  IndexedCorpus corpus(7, {700, 60, 30, false});
  const IndexReader index = corpus.index(coded(*all_codecs().front(), {64, 1}, 8));
  const Resources& resources = corpus.pipeline.resources;
  std::vector<CachePlan> plans;
  for (const Scores scores : {Scores::exact, Scores::quantized}) {
    ScoringOptions scoring;
    scoring.scores = scores;
    const QueryEngine engine(index, scoring);
    const CacheBlocks blocks(index, 64, resources, scores == Scores::quantized);
    LogQueries log(index.manifest().analyzer, resources);
    for (const std::string& term : corpus.terms(1000)) log.add(term);
    PlanOptions plan;
    plan.budget_bytes = blocks.index_bytes();
    plan.demand.round = 64;
    const LogDemand demand = measure_demand(engine, blocks, log, plan.demand, resources);
    plans.push_back(make_plan(engine, blocks, demand, plan));
  }
  CHECK(plans[0].manifest.scores == "exact");
  CHECK(plans[1].manifest.scores == "quantized");
  CHECK(plans[0].manifest.idf == "lucene");
  CHECK(plans[0].manifest.log_hash == plans[1].manifest.log_hash);
  CHECK(plans[0].manifest.index_bytes == index.container().array<std::uint32_t>("postings").size_bytes());
  CHECK(plans[1].manifest.index_bytes - plans[0].manifest.index_bytes ==
        index.container().array<std::uint32_t>("impacts").size_bytes());
  REQUIRE(plans[0].lists.size() == plans[1].lists.size());
  REQUIRE(plans[0].lists.size() > 1);
  for (std::size_t i = 0; i < plans[0].lists.size(); ++i) {
    const PostingList list = index.list(plans[0].lists[i].term);
    REQUIRE(plans[0].lists[i].bytes == list.words.size_bytes());
    REQUIRE(plans[1].lists[i].bytes == list.words.size_bytes() + list.impacts.size_bytes());
  }
}

TEST_CASE("a log's hash is that of its queries' texts, in their order", "[cache]") {
  Pipeline pipeline;
  const auto hash_of = [&](const std::vector<std::string>& texts) {
    LogQueries log({}, pipeline.resources);
    for (const std::string& text : texts) log.add(text);
    return log.hash();
  };
  CHECK(hash_of({"mill stone", "", "water"}) == xxh3(as_bytes(std::string_view("mill stone\0\0water\0", 18))));
  CHECK(hash_of({"a", "b"}) != hash_of({"b", "a"}));
  CHECK(hash_of({"a", "b"}) != hash_of({"ab"}));
  CHECK(hash_of({"a b"}) != hash_of({"b a"}));
}

TEST_CASE("a log's vectors with the same terms are one query, whatever their weights and bytes are", "[cache]") {
  Pipeline pipeline;
  LogQueries log({}, pipeline.resources, QueryKind::vector);
  for (const char* vector : {R"({"b": 2, "a": 0.5})", R"({"a": 3, "c": 0, "b": 1})", R"({"a\u0000b": 1, "\u0001": 1})",
                             R"({"a": 1})", R"({"a\u0001": 1})", R"({"c": 0})"})
    log.add(vector);
  CHECK_THROWS_AS(log.add("a b"), InvalidArgument);
  using Terms = std::vector<std::string>;
  std::vector<std::pair<Terms, std::vector<std::uint64_t>>> found;
  log.for_each([&](std::span<const LogQuery> queries) {
    for (const LogQuery& query : queries) found.emplace_back(words_of(query), query.places);
  });
  CHECK(found == decltype(found){{{"\1", {"a\0b", 3}}, {2}}, {{"a"}, {3}}, {{"a", "b"}, {0, 1}}, {{"a\1"}, {4}}});
}

TEST_CASE("a plan that does not fit in memory is refused with the size that it needs", "[cache]") {
  const CachedPages pages(tiny);
  const CacheBlocks blocks(pages.index, tiny);
  Resources resources = pages.pages.pipeline.resources;
  const auto demand = [&] {
    LogQueries log(pages.index.manifest().analyzer, resources);
    add_all(pages, log);
    return measure_demand(pages.engine, blocks, log, {}, resources);
  };
  const LogDemand whole = demand();
  const std::uint64_t needed = whole.lists.size() * 40 + whole.visits.size() * 24;
  resources.memory_bytes = needed * 4;
  CHECK(demand().visits == whole.visits);
  resources.memory_bytes = needed * 4 - 4;
  CHECK_THROWS_WITH(demand(), Catch::Contains("caching blocks") && Catch::Contains("raise it"));

  const std::uint64_t terms = pages.index.manifest().terms, budget = blocks.index_bytes();
  const std::uint64_t most_lists =
      std::min<std::uint64_t>(terms, pages.index.container().array<docid_t>("block_last").size() / 2);
  resources.memory_bytes = 2 * (4 * terms + 32 * most_lists);
  CHECK_NOTHROW(check_plan_memory(blocks, budget, resources));
  CHECK_NOTHROW(check_plan_memory(blocks, ~std::uint64_t{0}, resources));
  resources.memory_bytes -= 2;
  CHECK_THROWS_WITH(check_plan_memory(blocks, budget, resources),
                    Catch::Contains(std::string("raise it, or lower ") + option_name<"budget">));
  CHECK_NOTHROW(check_plan_memory(blocks, 4 * (most_lists - 1), resources));
  resources.memory_bytes = 2 * (4 * terms + 8 * most_lists) - 2;
  CHECK_THROWS_WITH(check_plan_memory(blocks, 4, resources),
                    Catch::Contains(std::string("raise it, or lower ") + option_name<"budget">));
}

TEST_CASE("visited blocks come first, ties go to the term with more queries", "[cache]") {
  // As in figure 2 of Wang et al.: caches the blocks that two or more queries visit, and then, of those that one query
  // visits, the blocks of lists with more queries.
  const CachedPages pages(tiny);
  const CacheBlocks blocks(pages.index, tiny);
  std::vector<PostingList> lists;
  for (std::uint64_t block = 0; lists.size() < 3; ++block)
    pages.index.for_each_list(block, [&](std::string_view, const PostingList& list) {
      if (lists.size() < 3 && blocks.count(list) > 8) lists.push_back(list);
    });
  const std::vector<std::vector<std::uint64_t>> visits = {{1, 1, 0}, {3, 2, 2, 1, 1, 0}, {2, 2, 1, 1, 0}};
  const std::vector<std::uint64_t> queries = {1, 3, 2};
  LogDemand demand;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto count = static_cast<std::uint32_t>(blocks.count(lists[i]));
    demand.lists.push_back({lists[i].number, count, lists[i].df, queries[i], demand.visits.size()});
    demand.visits.insert(demand.visits.end(), visits[i].begin(), visits[i].end());
    demand.visits.resize(demand.lists.back().first_visit + count);
  }
  // Space for the five blocks with two visits, two more of the second list, and one of the third.
  const std::uint64_t budget = blocks.bytes(lists[1], 5) + blocks.bytes(lists[2], 3);
  CacheAdmission admission(blocks, budget, 1);
  cache_policy_named("vfb").admit(demand, admission);
  CHECK(admission.blocks_of(lists[0].number) == 0);
  CHECK(admission.blocks_of(lists[1].number) == 5);
  CHECK(admission.blocks_of(lists[2].number) == 3);
}

}  // namespace quern
