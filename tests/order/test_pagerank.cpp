#include <cmath>

#include "quern/core/random.hpp"
#include "quern/order/pagerank.hpp"

#include "catch.hpp"
#include "corpus/small_collection.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

InLinks graph_of(const TemporaryFolder& folder, docid_t documents, const std::vector<LinkEdge>& edges) {
  EdgeSpool spool(folder.path(""));
  for (const LinkEdge edge : edges) spool.add(edge);
  return make_in_links(spool, documents, testing::small_resources(folder));
}

std::vector<double> ranks_of(const TemporaryFolder& folder, const InLinks& graph, unsigned threads = 2) {
  const Pagerank pagerank = compute_pagerank(graph, {}, testing::small_resources(folder, threads));
  CHECK(pagerank.converged);
  return pagerank.ranks;
}

/// Random edges without self-links; some are duplicates, and the last documents have no links.
std::vector<LinkEdge> random_edges(docid_t documents, std::size_t count, std::uint64_t seed) {
  RandomBits random(seed);
  std::vector<LinkEdge> edges;
  while (edges.size() < count) {
    const auto from = static_cast<docid_t>(random.below(1 + documents * 3 / 4));
    const auto to = static_cast<docid_t>(random.below(1 + random.below(documents)));
    if (from != to) edges.push_back({from, to});
  }
  return edges;
}

/// Multiplies by the full transition matrix until nothing changes.
std::vector<double> dense_pagerank(docid_t documents, const std::vector<LinkEdge>& edges) {
  std::vector<std::vector<bool>> links(documents, std::vector<bool>(documents));
  for (const LinkEdge edge : edges) links[edge.from][edge.to] = true;
  std::vector<std::vector<double>> moves(documents, std::vector<double>(documents));
  for (docid_t from = 0; from < documents; ++from) {
    const auto degree = static_cast<double>(std::count(links[from].begin(), links[from].end(), true));
    for (docid_t to = 0; to < documents; ++to)
      moves[from][to] = 0.15 / documents + 0.85 * (degree == 0 ? 1.0 / documents : links[from][to] ? 1 / degree : 0);
  }
  std::vector<double> ranks(documents, 1.0 / documents);
  for (int i = 0; i < 300; ++i) {
    std::vector<double> next(documents);
    for (docid_t from = 0; from < documents; ++from)
      for (docid_t to = 0; to < documents; ++to) next[to] += ranks[from] * moves[from][to];
    ranks = next;
  }
  return ranks;
}

}  // namespace

TEST_CASE("PageRank of a small graph agrees with a calculation by hand", "[order][pagerank]") {
  const TemporaryFolder folder;
  SECTION("two pages that link to each other") {
    const auto ranks = ranks_of(folder, graph_of(folder, 2, {{0, 1}, {1, 0}}));
    CHECK(std::abs(ranks[0] - 0.5) < 1e-12);
    CHECK(std::abs(ranks[1] - 0.5) < 1e-12);
  }
  SECTION("one page links to another, which links to none") {
    // b gives half of its rank to each: a = 0.075 + 0.425 b, b = a + 0.85 a, a + b = 1.
    const auto ranks = ranks_of(folder, graph_of(folder, 2, {{0, 1}, {0, 1}}));
    CHECK(std::abs(ranks[0] - 1 / 2.85) < 1e-8);
    CHECK(std::abs(ranks[1] - 1.85 / 2.85) < 1e-8);
  }
  SECTION("three pages: a and b link to c, c to a") {
    // b = 0.05, a = 0.05 + 0.85 c, c = 0.05 + 0.85 (a + b): c (1 - 0.85^2) = 0.05 + 0.85 * 0.1.
    const auto ranks = ranks_of(folder, graph_of(folder, 3, {{0, 2}, {1, 2}, {2, 0}}));
    const double c = 0.135 / 0.2775;
    CHECK(std::abs(ranks[1] - 0.05) < 1e-8);
    CHECK(std::abs(ranks[2] - c) < 1e-8);
    CHECK(std::abs(ranks[0] - (0.05 + 0.85 * c)) < 1e-8);
  }
}

TEST_CASE("PageRank of random graphs is that of a dense power iteration", "[order][pagerank][property]") {
  const TemporaryFolder folder;
  for (const docid_t documents : {2u, 3u, 17u, 100u, 150u})
    for (const std::size_t edges_per_document : {0u, 1u, 3u, 20u}) {
      const auto edges = random_edges(documents, documents * edges_per_document, documents + edges_per_document);
      const auto want = dense_pagerank(documents, edges);
      const auto ranks = ranks_of(folder, graph_of(folder, documents, edges));
      INFO(documents << " documents, " << edges.size() << " edges");
      REQUIRE(ranks.size() == want.size());
      for (docid_t document = 0; document < documents; ++document)
        CHECK(std::abs(ranks[document] - want[document]) <= 1e-6 * want[document]);
    }
}

TEST_CASE("PageRank has the same bits for graphs in files and in memory", "[order][pagerank][property]") {
  const TemporaryFolder folder;
  // Several runs of rows, a document with many links to it, documents without any.
  const docid_t documents = 40000;
  std::vector<LinkEdge> edges = random_edges(documents / 2, 90000, 8);
  for (docid_t i = 1; i < documents; ++i) edges.push_back({i, 0});
  edges.push_back({1, documents - 2});
  EdgeSpool spool(folder.path(""));
  for (const LinkEdge edge : edges) spool.add(edge);
  const InLinks in_memory = make_in_links(spool, documents, testing::small_resources(folder));
  const std::vector<double> want = ranks_of(folder, in_memory);
  for (const unsigned threads : {1u, 3u}) {
    const Resources resources = testing::small_resources(folder, threads, 1 << 20);
    SpooledInLinks in_file = spool_in_links(spool, documents, resources);
    CHECK(in_file.runs == row_runs(in_memory));
    CHECK(in_file.edges() == in_memory.edges());
    CHECK(in_file.out_degrees == in_memory.out_degrees);
    CHECK(compute_pagerank(std::move(in_file), {}, resources).ranks == want);
  }
}

TEST_CASE("PageRank has the same bits for any number of threads and any order of the links",
          "[order][pagerank][property]") {
  const TemporaryFolder folder;
  std::vector<LinkEdge> edges = random_edges(30000, 300000, 5);
  for (docid_t from = 1; from < 30000; from += 2) edges.push_back({from, 7});
  const InLinks graph = graph_of(folder, 30000, edges);
  REQUIRE(row_runs(graph).size() > 5);
  const auto one = ranks_of(folder, graph, 1);
  CHECK(ranks_of(folder, graph, 2) == one);
  CHECK(ranks_of(folder, graph, 5) == one);
  std::reverse(edges.begin(), edges.end());
  CHECK(ranks_of(folder, graph_of(folder, 30000, edges), 2) == one);
}

TEST_CASE("PageRank of an empty graph is empty; without links it is the same for all", "[order][pagerank]") {
  const TemporaryFolder folder;
  CHECK(ranks_of(folder, graph_of(folder, 0, {})).empty());
  CHECK(ranks_of(folder, graph_of(folder, 4, {})) == std::vector<double>(4, 0.25));
  CHECK(ranks_of(folder, graph_of(folder, 1, {})) == std::vector<double>{1});
}

TEST_CASE("Iterations that end too early are reported", "[order][pagerank]") {
  const TemporaryFolder folder;
  PagerankOptions options;
  options.max_iterations = 3;
  const auto pagerank =
      compute_pagerank(graph_of(folder, 3, {{0, 2}, {1, 2}, {2, 0}}), options, testing::small_resources(folder));
  CHECK_FALSE(pagerank.converged);
  CHECK(pagerank.iterations == 3);
  CHECK(pagerank.last_change > options.tolerance);
}
