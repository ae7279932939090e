#include <cmath>
#include <numeric>

#include "quern/lab/synth/document_tree.hpp"

#include "catch.hpp"
#include "lab/synth/synth_testing.hpp"

/// Synthetic links.
namespace quern {
namespace {

using namespace testing;

DocumentTree tree_of(docid_t documents) {
  DocumentTreeOptions options;
  options.documents = documents;
  return DocumentTree(options);
}

}  // namespace

TEST_CASE("the popular documents contain all documents, each once", "[synth]") {
  for (const docid_t documents : {1u, 2u, 3u, 10u, 64u, 997u, 30030u}) {
    const PopularityRanking popular(documents, 5);
    std::vector<bool> seen(documents);
    for (docid_t rank = 0; rank < documents; ++rank) {
      REQUIRE(popular.at(rank) < documents);
      REQUIRE(!seen[popular.at(rank)]);
      seen[popular.at(rank)] = true;
    }
  }
}

TEST_CASE("links are distinct, lead to other documents, mostly of the site, and follow a power law", "[synth]") {
  constexpr docid_t documents = 20000;
  const DocumentTree tree = tree_of(documents);
  const DocumentNames names(tree);
  const LinkGraph graph(tree, 10, 1);
  std::vector<std::uint32_t> in_degrees(documents);
  std::uint64_t links = 0, in_site = 0, dangling = 0;
  std::vector<docid_t> targets;
  for (docid_t document = 0; document < documents; ++document) {
    graph.links_of(document, targets);
    REQUIRE(std::is_sorted(targets.begin(), targets.end(), std::less_equal<>()));
    REQUIRE(!std::binary_search(targets.begin(), targets.end(), document));
    for (const docid_t target : targets) {
      REQUIRE(target < documents);
      ++in_degrees[target];
      in_site += names.site(target) == names.site(document);
    }
    links += targets.size();
    dangling += targets.empty();
  }
  CHECK(static_cast<double>(links) == Approx(10.0 * documents).epsilon(0.1));
  CHECK(in_site > links / 2);
  CHECK(in_site < links * 9 / 10);
  CHECK(dangling > 0);
  CHECK(dangling < documents / 10);
  std::sort(in_degrees.begin(), in_degrees.end(), std::greater<>());
  CHECK(in_degrees[0] > 1000);
  CHECK(in_degrees[documents / 100] > 40);
  CHECK(in_degrees[documents / 2] < 10);
}

TEST_CASE("the smallest collections have links or none", "[synth]") {
  std::vector<docid_t> targets = {7};
  const DocumentTree one = tree_of(1), two = tree_of(2);
  LinkGraph(one, 20, 1).links_of(0, targets);
  CHECK(targets.empty());
  LinkGraph(two, 20, 1).links_of(0, targets);
  CHECK((targets.empty() || targets == std::vector<docid_t>{1}));
  LinkGraph(two, 0, 1).links_of(0, targets);
  CHECK(targets.empty());
}

}  // namespace quern
