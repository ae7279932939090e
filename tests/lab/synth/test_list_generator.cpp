#include <cmath>
#include <numeric>

#include "quern/lab/synth/list_generator.hpp"
#include "quern/lab/synth/term_fields.hpp"

#include "catch.hpp"
#include "lab/synth/synth_testing.hpp"

/// Synthetic documents and lists, before they are an index.
namespace quern {
namespace {

using namespace testing;

struct MadeList {
  std::vector<docid_t> docids;
  std::vector<freq_t> freqs;
};

MadeList generate(ListGenerator& generator, const TermField& field, std::uint64_t first, std::uint64_t end) {
  MadeList list;
  generator.generate(field, first, end, [&](std::span<const docid_t> docids, std::span<const freq_t> freqs) {
    REQUIRE(docids.size() == freqs.size());
    list.docids.insert(list.docids.end(), docids.begin(), docids.end());
    list.freqs.insert(list.freqs.end(), freqs.begin(), freqs.end());
  });
  return list;
}

MadeList generate(ListGenerator& generator, const TermField& field) { return generate(generator, field, 0, field.df); }

void append(MadeList& to, const MadeList& from) {
  to.docids.insert(to.docids.end(), from.docids.begin(), from.docids.end());
  to.freqs.insert(to.freqs.end(), from.freqs.begin(), from.freqs.end());
}

std::vector<TermField> fields_of(const DfTable& table, double clustering, std::uint64_t seed,
                                 const std::vector<std::vector<std::string>>& queries = {}) {
  const auto visit_queries = [&](const auto& visit) {
    for (const auto& query : queries) visit(query);
  };
  return term_fields(table, clustering, seed, visit_queries, default_resources());
}

/// Mean of the gaps' logarithms: smaller if postings cluster more.
double mean_log_gap(const std::vector<docid_t>& docids) {
  double sum = 0;
  for (std::size_t i = 1; i < docids.size(); ++i) sum += std::log2(docids[i] - docids[i - 1]);
  return sum / static_cast<double>(docids.size() - 1);
}

}  // namespace

TEST_CASE("a tree's leaves and sites cover all documents", "[synth]") {
  for (const docid_t documents : {1u, 2u, 64u, 65u, 1000u, 50000u}) {
    DocumentTreeOptions options;
    options.documents = documents;
    const DocumentTree tree(options);
    REQUIRE(tree.lengths().size() == documents);
    for (const auto starts : {tree.leaf_starts(), tree.site_starts()}) {
      REQUIRE(!starts.empty());
      CHECK(starts[0] == 0);
      CHECK(std::is_sorted(starts.begin(), starts.end(), std::less_equal<>()));
      CHECK(starts.back() < documents);
    }
    for (std::size_t i = 0; i < tree.leaf_starts().size(); ++i) {
      const docid_t end = i + 1 < tree.leaf_starts().size() ? tree.leaf_starts()[i + 1] : documents;
      REQUIRE(end - tree.leaf_starts()[i] <= DocumentTree::max_leaf);
      for (docid_t document = tree.leaf_starts()[i]; document < end; ++document)
        REQUIRE(tree.places()[document].alias < end - tree.leaf_starts()[i]);
    }
    CHECK(std::binary_search(tree.leaf_starts().begin(), tree.leaf_starts().end(), tree.site_starts().back()));
  }
}

TEST_CASE("document lengths have the requested mean and a heavy tail", "[synth]") {
  DocumentTreeOptions options;
  options.documents = 50000;
  options.mean_length = 400;
  const DocumentTree tree(options);
  std::vector<std::uint32_t> lengths(tree.lengths().begin(), tree.lengths().end());
  const double mean = std::accumulate(lengths.begin(), lengths.end(), 0.0) / options.documents;
  CHECK(mean == Approx(400).epsilon(0.01));
  std::sort(lengths.begin(), lengths.end());
  CHECK(lengths.front() >= 1);
  CHECK(lengths[lengths.size() / 2] < 0.8 * mean);
  CHECK(lengths[lengths.size() * 99 / 100] > 4 * mean);
}

TEST_CASE("a list has exactly its df, ascending docIDs and frequencies that fit the documents", "[synth]") {
  for (const docid_t documents : {1u, 2u, 3u, 63u, 64u, 65u, 200u, 20000u}) {
    for (const double clustering : {0.0, 0.5, 1.0}) {
      DocumentTreeOptions options;
      options.documents = documents;
      options.clustering = clustering;
      const DocumentTree tree(options);
      ListGenerator generator(tree);
      for (const TermField& field : fields_of(small_table(documents), clustering, 1)) {
        INFO(documents << " documents, df " << field.df << ", clustering " << clustering);
        const MadeList list = generate(generator, field);
        REQUIRE(list.docids.size() == field.df);
        REQUIRE(list.docids.back() < documents);
        REQUIRE(std::is_sorted(list.docids.begin(), list.docids.end(), std::less_equal<>()));
        for (std::size_t i = 0; i < list.freqs.size(); ++i) {
          REQUIRE(list.freqs[i] >= 1);
          REQUIRE(list.freqs[i] <= tree.lengths()[list.docids[i]]);
        }
      }
    }
  }
}

TEST_CASE("a list drawn in pieces is the same list", "[synth]") {
  for (const docid_t documents : {1u, 65u, 200u, 20000u}) {
    for (const double clustering : {0.0, 0.5}) {
      DocumentTreeOptions options;
      options.documents = documents;
      options.clustering = clustering;
      const DocumentTree tree(options);
      ListGenerator generator(tree);
      for (const TermField& field : fields_of(small_table(documents), clustering, 1)) {
        const MadeList whole = generate(generator, field);
        for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{5000}, field.df}) {
          if (field.df / size > 1000) continue;
          INFO(documents << " documents, df " << field.df << ", pieces of " << size);
          MadeList joined;
          for (std::uint64_t first = 0; first < field.df; first += size)
            append(joined, generate(generator, field, first, std::min(field.df, first + size)));
          REQUIRE((joined.docids == whole.docids));
          REQUIRE((joined.freqs == whole.freqs));
        }
      }
    }
  }
}

TEST_CASE("docIDs are spread evenly without clustering, and close together with it", "[synth]") {
  constexpr docid_t documents = 100000;
  DfTable table;
  table.documents = documents;
  table.terms = {{"some", 4000}};
  double before = 1e9;
  for (const double clustering : {0.0, 0.25, 0.5, 1.0}) {
    DocumentTreeOptions options;
    options.documents = documents;
    options.clustering = clustering;
    const DocumentTree tree(options);
    ListGenerator generator(tree);
    const MadeList list = generate(generator, fields_of(table, clustering, 1)[0]);
    const double mean = mean_log_gap(list.docids);
    INFO(clustering);
    CHECK(mean < before - 0.2);
    before = mean;
    if (clustering > 0) continue;
    // Geometric gaps of mean 25, and three standard deviations.
    CHECK(mean == Approx(3.915).margin(0.09));
    // Counts in 100 strips of documents: their chi-square has mean 99 and deviation 14.
    std::vector<double> counts(100);
    for (const docid_t docid : list.docids) ++counts[docid / 1000];
    double chi_square = 0;
    for (const double count : counts) chi_square += (count - 40) * (count - 40) / 40;
    CHECK(chi_square > 45);
    CHECK(chi_square < 165);
  }
}

TEST_CASE("terms that occur together in queries share documents", "[synth]") {
  constexpr docid_t documents = 100000;
  DfTable table;
  table.documents = documents;
  table.terms = {{"a", 5000}, {"b", 2000}, {"c", 2000}, {"d", 2000}};
  DocumentTreeOptions options;
  options.documents = documents;
  const DocumentTree tree(options);
  ListGenerator generator(tree);
  const auto ratio = [&](const std::vector<TermField>& fields, std::size_t one, std::size_t other) {
    const MadeList a = generate(generator, fields[one]), b = generate(generator, fields[other]);
    std::vector<docid_t> both;
    std::set_intersection(a.docids.begin(), a.docids.end(), b.docids.begin(), b.docids.end(), std::back_inserter(both));
    return static_cast<double>(both.size()) * documents / static_cast<double>(fields[one].df * fields[other].df);
  };
  const std::vector<std::vector<std::string>> queries = {{"a", "b"}, {"b", "a", "c"}, {"unknown", "d"}, {}};
  const auto alone = fields_of(table, 0.5, 1), asked = fields_of(table, 0.5, 1, queries);
  CHECK(ratio(asked, 0, 1) > 1.3 * ratio(alone, 0, 1));
  CHECK(ratio(asked, 0, 2) > 1.3 * ratio(alone, 0, 2));
  CHECK(asked[3].shared_key == alone[3].shared_key);
  CHECK(asked[0].own_key == alone[0].own_key);
}

TEST_CASE("a term keeps its list when other terms are added", "[synth]") {
  DfTable one, two;
  one.documents = two.documents = 1000;
  one.terms = {{"mill", 100}};
  two.terms = {{"grain", 500}, {"mill", 100}};
  const TermField a = fields_of(one, 0.5, 7)[0], b = fields_of(two, 0.5, 7)[1];
  CHECK(a.own_key == b.own_key);
  CHECK(a.shared_key == b.shared_key);
  CHECK(a.own_key != fields_of(one, 0.5, 8)[0].own_key);
}

}  // namespace quern
