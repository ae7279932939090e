#include <map>
#include <set>

#include "quern/core/random.hpp"
#include "quern/order/in_links.hpp"
#include "quern/order/page_links.hpp"

#include "catch.hpp"
#include "order/linked_pages.hpp"

using namespace quern;
using quern::testing::LinkedPage;
using quern::testing::TemporaryFolder;

namespace {

using Edges = std::set<std::pair<docid_t, docid_t>>;

Edges edges_of(const InLinks& graph) {
  Edges edges;
  for (docid_t to = 0; to < graph.documents(); ++to)
    for (const docid_t from : graph.row(to)) edges.insert({from, to});
  CHECK(edges.size() == graph.edges());
  return edges;
}

const InLinks& in_memory(const ReadGraph& read) { return std::get<InLinks>(read.graph); }

std::vector<std::string> list_of(const CollectionReader& collection, const TemporaryFolder& folder) {
  std::vector<std::string> lines;
  list_links(collection, testing::small_resources(folder), [&](std::string_view from, std::string_view to) {
    lines.push_back(std::string(from) + " " + std::string(to));
  });
  return lines;
}

/// Checks that each of `links` is in exactly one count.
void check_sum(const LinkCounts& counts) {
  CHECK(counts.links == counts.edges + counts.self + counts.leaving + counts.unknown + counts.duplicates);
}

}  // namespace

TEST_CASE("Links lead to the pages with the same normalised URL", "[order][links]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::linked_collection(
      folder, {{"a", "http://h.example/a", "<a href='B#part'>x</a> <a href='/%42?'>x</a> <a href='b%7e%2f'>x</a>"},
               {"b", "HTTP://H.example:80/B", "<a href='#top'>x</a> <a href='//H.EXAMPLE/%61'>x</a> <a href='a'>x</a>"},
               {"c", "http://h.example/b~%2F", "<a href='%2e%2e/x/../a?q'>x</a><a href='/gone'>x</a>"},
               {"d", "http://h.example/a?q",
                "<a href='http://other.example/'>x</a><a href='/gone#1'>x</a>"
                "<a href='gone#2'>x</a>"}});
  const ReadGraph read = graph_of_collection(collection, testing::small_resources(folder));
  // "/%42?" has an empty query, which differs from no query.
  CHECK(edges_of(in_memory(read)) == Edges{{0, 1}, {0, 2}, {1, 0}, {2, 3}});
  CHECK(in_memory(read).out_degrees == std::vector<std::uint32_t>{2, 1, 1, 0});
  CHECK(read.counts.links == 11);
  CHECK(read.counts.edges == 4);
  CHECK(read.counts.self == 1);
  CHECK(read.counts.leaving == 4);  // of a, one; of c, one; of d, two that are distinct
  CHECK(read.counts.duplicates == 2);
  check_sum(read.counts);
  CHECK(list_of(collection, folder) == std::vector<std::string>{"http://h.example/a HTTP://H.example:80/B",
                                                                "http://h.example/a http://h.example/b~%2F",
                                                                "HTTP://H.example:80/B http://h.example/a",
                                                                "http://h.example/b~%2F http://h.example/a?q"});
}

TEST_CASE("The first document with a URL gets its links, except links to itself", "[order][links]") {
  const TemporaryFolder folder;
  const CollectionReader collection =
      testing::linked_collection(folder, {{"a", "http://h.example/a", "<a href='/a'>x</a>"},
                                          {"b", "http://h.example/a", "<a href='/a#1'>x</a><a href='/c'>x</a>"},
                                          {"c", "http://h.example/c", "<a href='/a'>x</a>"}});
  const ReadGraph read = graph_of_collection(collection, testing::small_resources(folder));
  CHECK(edges_of(in_memory(read)) == Edges{{1, 2}, {2, 0}});
  CHECK(read.counts.self == 2);
  check_sum(read.counts);
}

TEST_CASE("Links of random pages match a model, for any number of threads", "[order][links][property]") {
  RandomBits random(97);
  const TemporaryFolder folder;
  std::vector<LinkedPage> pages;
  Edges want;
  std::map<docid_t, std::set<std::uint64_t>> leaving;
  constexpr docid_t count = 120;
  for (docid_t from = 0; from < count; ++from) {
    std::string body;
    for (std::uint64_t links = random.below(12); links > 0; --links) {
      const auto to = static_cast<docid_t>(random.below(count + 20));
      body += "<a href='/p" + std::to_string(to) + "#" + std::to_string(random.below(3)) + "'>x</a> ";
      if (to >= count) leaving[from].insert(to);
      if (to < count && to != from) want.insert({from, to});
    }
    pages.push_back({"d" + std::to_string(from), "http://h.example/p" + std::to_string(from), body});
  }
  const CollectionReader collection = testing::linked_collection(folder, pages);
  REQUIRE(collection.num_chunks() > 3);
  const ReadGraph read = graph_of_collection(collection, testing::small_resources(folder));
  CHECK(edges_of(in_memory(read)) == want);
  std::size_t leaving_links = 0;
  for (const auto& [from, targets] : leaving) leaving_links += targets.size();
  CHECK(read.counts.leaving == leaving_links);
  check_sum(read.counts);
  for (docid_t to = 0; to < count; ++to) {
    const auto row = in_memory(read).row(to);
    CHECK(std::is_sorted(row.begin(), row.end()));
  }

  // The output of --links gives the same graph when read as a file.
  std::string lines;
  list_links(collection, testing::small_resources(folder),
             [&](std::string_view from, std::string_view to) { lines.append(from).append("\t").append(to) += '\n'; });
  const std::string file = folder.write("links.tsv", lines);
  const ReadGraph again = graph_of_link_file(file, collection, testing::small_resources(folder));
  CHECK(in_memory(again).sources == in_memory(read).sources);
  CHECK(in_memory(again).begins == in_memory(read).begins);
  CHECK(in_memory(again).out_degrees == in_memory(read).out_degrees);
}

TEST_CASE("A link file's lines are distinct edges, self-links or unknown", "[order][links]") {
  const TemporaryFolder folder;
  const CollectionReader collection = testing::linked_collection(
      folder, {{"a", "http://h.example/a", ""}, {"b", "", ""}, {"c", "http://h.example/c", ""}});
  const std::string lines =
      "a\tb\nhttp://h.example/a\tb\nb\tHTTP://H.EXAMPLE/c#x\nb\tc\na\thttp://h.example/a\nnobody\ta\nc\tnowhere\n";
  const ReadGraph read =
      graph_of_link_file(folder.write("links.tsv", lines), collection, testing::small_resources(folder));
  CHECK(edges_of(in_memory(read)) == Edges{{0, 1}, {1, 2}});
  CHECK(read.counts.links == 7);
  CHECK(read.counts.duplicates == 2);
  CHECK(read.counts.self == 1);
  CHECK(read.counts.unknown == 2);
  check_sum(read.counts);
  CHECK(read.file_hash == hash_text(xxh3(as_bytes(lines))));
}

TEST_CASE("Without a collection a link file's names are documents in order of occurrence", "[order][links]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("links.tsv", "x\ty\nx\tz\ny\tx\nx\ty\n");
  const Resources resources = testing::small_resources(folder);
  const ReadGraph read = graph_of_link_file(file, 0, resources);
  CHECK(edges_of(in_memory(read)) == Edges{{0, 1}, {0, 2}, {1, 0}});
  CHECK(graph_of_link_file(file, 2, resources).documents == 3);
  CHECK(graph_of_link_file(file, 5, resources).documents == 5);
}

TEST_CASE("A graph that does not fit in the memory budget is in a file", "[order][links]") {
  const TemporaryFolder folder;
  EdgeSpool edges(folder.path(""));
  for (docid_t i = 0; i < 100; ++i) edges.add({i, i + 1});
  const auto is_in_memory = [&](std::uint64_t memory_bytes) {
    const PageGraph graph = make_page_graph("links", edges, 1000, testing::small_resources(folder, 2, memory_bytes));
    return std::holds_alternative<InLinks>(graph);
  };
  CHECK(is_in_memory(40000));
  CHECK_FALSE(is_in_memory(30000));
  CHECK_THROWS_WITH(is_in_memory(19000), Catch::Contains("PageRank of 1000 documents needs"));
}

TEST_CASE("Links are the same from lookups in memory and by sorting", "[order][links][property]") {
  RandomBits random(41);
  const TemporaryFolder folder;
  std::vector<LinkedPage> pages;
  constexpr std::uint64_t urls = 150;
  for (std::size_t i = 0; i < 200; ++i) {
    std::string body;
    for (std::uint64_t links = random.below(15); links > 0; --links)
      body += "<a href='http://h.example/p" + std::to_string(random.below(urls + 30)) + "'>x</a> ";
    // Some URLs belong to several pages, some pages have none.
    const bool has_url = random.below(8) != 0;
    pages.push_back(
        {"d" + std::to_string(i), has_url ? "http://h.example/p" + std::to_string(random.below(urls)) : "", body});
  }
  const CollectionReader collection = testing::linked_collection(folder, pages);
  for (const unsigned threads : {1u, 4u}) {
    const Resources resources = testing::small_resources(folder, threads);
    EdgeSpool looked_up(folder.path("")), joined(folder.path(""));
    const LinkCounts counts = look_up_page_links(collection, resources, looked_up);
    CHECK(counts.self > 0);
    CHECK(counts.leaving > 0);
    CHECK(counts.duplicates > 0);
    CHECK(join_page_links(collection, resources, joined) == counts);
    CHECK(joined.count() == counts.edges);
    const auto edges_in = [](const EdgeSpool& spool) {
      Edges edges;
      spool.for_each([&](LinkEdge edge) { edges.insert({edge.from, edge.to}); });
      return edges;
    };
    CHECK(edges_in(joined) == edges_in(looked_up));
  }
}
