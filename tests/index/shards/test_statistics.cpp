#include <array>
#include <map>

#include "quern/core/random.hpp"
#include "quern/formats/index_shards.hpp"
#include "quern/formats/joined_lexicon.hpp"
#include "quern/index/shards/statistics.hpp"

#include "catch.hpp"
#include "index/shards/split_corpus.hpp"

namespace quern {
namespace {

using namespace testing;

using Terms = std::map<std::string, Bytes>;

/// Sections "terms" and "terms_blocks" of these parts, with numbers as payloads; all parts except the last have full
/// blocks. Unlike in written files, a part's terms may be less than the previous part's.
ContainerReader dictionary(std::span<const Terms> parts, const Pipeline& pipeline) {
  const StageFile file = pipeline.new_file();
  ContainerWriter out(*file, FileKind::statistics);
  std::vector<std::uint64_t> offsets;
  out.begin_section("terms");
  for (const Terms& terms : parts) {
    const std::uint64_t begin = offsets.empty() ? 0 : offsets.back();
    if (!offsets.empty()) offsets.pop_back();
    DictionaryWriter writer([&](ByteView bytes) { out.write(bytes); }, pipeline.resources.tmp_folder);
    for (const auto& [term, payload] : terms) writer.add(term, payload);
    const Spool& part_offsets = writer.finish();
    std::vector<std::uint64_t> some(part_offsets.size() / sizeof(std::uint64_t));
    part_offsets.read_array(0, std::span(some));
    for (const std::uint64_t offset : some) offsets.push_back(begin + offset);
  }
  out.end_section();
  out.add_array("terms_blocks", offsets);
  out.finish();
  return ContainerReader(file, FileKind::statistics);
}
ContainerReader dictionary(const Terms& terms, const Pipeline& pipeline) {
  return dictionary(std::span(&terms, 1), pipeline);
}

/// Short and long terms, with zeros; many share their first eight bytes.
std::string similar_term(RandomBits& random) {
  std::string term = random.below(2) == 0 ? "" : "common prefix";
  for (std::uint64_t length = random.below(4); length > 0; --length) term += static_cast<char>(random.below(3) * 127);
  return term;
}

}  // namespace

TEST_CASE("dictionaries are merged in the order of their terms", "[shards][property]") {
  const Pipeline pipeline;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    RandomBits random(seed);
    std::vector<Terms> each(random.below(9));
    std::map<std::string, std::vector<std::pair<std::size_t, Bytes>>> expected;
    for (std::size_t i = 0; i < each.size(); ++i) {
      for (std::uint64_t count = random.below(200); count > 0; --count) {
        Bytes& payload = each[i][similar_term(random)];
        payload.clear();
        put_varint(payload, random.below(1000));
      }
      for (const auto& [term, payload] : each[i]) expected[term].emplace_back(i, payload);
    }
    std::vector<ContainerReader> files;
    files.reserve(each.size());
    std::vector<DictionaryScan> scans;
    for (const auto& terms : each) {
      files.push_back(dictionary(terms, pipeline));
      scans.emplace_back(files.back(), "terms", terms.size(), 1 + random.below(3));
    }
    DictionaryMerge merge(std::move(scans));
    for (const auto& [term, rows] : expected) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        REQUIRE(merge.next());
        CHECK(merge.term() == term);
        CHECK(merge.is_new_term() == (i == 0));
        CHECK(merge.source() == rows[i].first);
        CHECK(Bytes(merge.payload().begin(), merge.payload().end()) == rows[i].second);
      }
    }
    CHECK_FALSE(merge.next());
  }
}

TEST_CASE("counts of terms are added up over dictionaries of any sizes", "[shards][property]") {
  const Pipeline pipeline;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    RandomBits random(seed);
    std::vector<Terms> each(random.below(9));
    std::map<std::string, TermCounts> expected;
    std::uint64_t entries = 0;
    for (auto& terms : each) {
      // Enough terms for several ranges.
      for (std::uint64_t count = random.below(random.below(2) == 0 ? 50 : 2000); count > 0; --count) {
        std::string term = similar_term(random);
        if (random.below(2) == 0) term += std::to_string(random.below(1000));
        const TermCounts counts{1 + random.below(100), random.below(1000)};
        const auto [place, is_new] = terms.try_emplace(term);
        if (!is_new) continue;
        counts.put(place->second);
        expected[term] += counts;
        ++entries;
      }
    }
    std::vector<ContainerReader> files;
    files.reserve(each.size());
    std::vector<DictionaryScan> scans;
    for (const auto& terms : each) {
      files.push_back(dictionary(terms, pipeline));
      scans.emplace_back(files.back(), "terms", terms.size(), DictionaryScan::min_blocks_with_bound + random.below(3));
    }
    TermSums sums(std::move(scans));
    for (const auto& [term, counts] : expected) {
      REQUIRE(sums.next());
      CHECK(sums.term() == term);
      CHECK(sums.counts() == counts);
    }
    CHECK_FALSE(sums.next());
    CHECK(sums.entries() == entries);
  }
}

TEST_CASE("a dictionary whose terms don't ascend is refused, and named", "[shards]") {
  const Pipeline pipeline;
  constexpr std::size_t blocks = 2 * DictionaryScan::min_blocks_with_bound;
  std::array<Terms, 2> parts;
  for (std::size_t i = 0; i < blocks * terms_per_block; ++i) {
    parts[0]["m" + std::to_string(i)] = {1, 1};
    parts[1]["c" + std::to_string(i)] = {1, 1};
  }
  const auto sum_up = [&](const ContainerReader& file, std::uint64_t terms) {
    std::vector<DictionaryScan> scans;
    scans.emplace_back(file, "terms", terms, DictionaryScan::min_blocks_with_bound);
    TermSums sums(std::move(scans));
    while (sums.next()) {
    }
    return sums.entries();
  };
  const std::uint64_t terms = parts[0].size() + parts[1].size();
  const ContainerReader falls = dictionary(parts, pipeline);
  CHECK_THROWS_WITH(sum_up(falls, terms), falls.name() + ": section 'terms': terms do not ascend");
  std::swap(parts[0], parts[1]);
  CHECK(sum_up(dictionary(parts, pipeline), terms) == terms);
}

TEST_CASE("statistics of splits are the same in every order and tree", "[shards][property]") {
  const SplitCorpus corpus(random_corpus(3, {150, 300, 60, true}), 5);
  const StatisticsReader all = corpus.statistics();
  all.container().verify(corpus.pipeline.resources);
  all.verify_contents();
  const Bytes wanted = bytes_of(all.container().file());
  CHECK(bytes_of(corpus.statistics({4, 2, 0, 3, 1}).container().file()) == wanted);
  std::vector<StatisticsReader> halves;
  halves.push_back(corpus.statistics({3, 1}));
  halves.push_back(corpus.statistics({4, 0, 2}));
  CHECK(bytes_of(corpus.merged(halves).container().file()) == wanted);
  // The lexicon of the whole corpus has the same counts.
  const CollectionManifest &counts = all.manifest().collection, &whole = corpus.whole.manifest();
  CHECK(counts.documents == whole.documents);
  CHECK(counts.empty_documents == whole.empty_documents);
  CHECK(counts.tokens == whole.tokens);
  CHECK(counts.postings == whole.postings);
  DictionaryScan lexicon = corpus.whole.lexicon();
  DictionaryScan terms = all.terms();
  DictionaryEntry term;
  for (DictionaryEntry entry; lexicon.next(entry);) {
    const TermCounts in_lexicon = TermCounts::parse(entry.payload, "lexicon");
    if (in_lexicon.df == 0) continue;
    REQUIRE(terms.next(term));
    CHECK(term.term == entry.term);
    CHECK(TermCounts::parse(term.payload, "term") == in_lexicon);
  }
  CHECK_FALSE(terms.next(term));
}

TEST_CASE("statistics find documents in several splits, and repeated splits", "[shards]") {
  auto documents = random_corpus(5, {40, 100, 20, false});
  documents.back().docno = documents.front().docno;
  documents[20].docno = documents.front().docno;
  const SplitCorpus corpus(documents, 4);
  const StatisticsReader all = corpus.statistics();
  CHECK(all.manifest().duplicates == 2);
  std::vector<CollectionReader> collections;
  for (std::size_t i = 0; i < corpus.num_splits(); ++i) collections.emplace_back(corpus.split(i));
  CHECK(repeated_docnos(all, collections, 3) == std::vector<std::string>{documents.front().docno});
  // A corpus may have a file twice.
  const StatisticsReader twice = corpus.statistics({0, 1, 0});
  CHECK(twice.splits().size() == 3);
  CHECK(twice.manifest().duplicates >= CollectionReader(corpus.split(0)).num_documents());
  std::vector<StatisticsReader> overlapping;
  overlapping.push_back(corpus.statistics({0, 1}));
  overlapping.push_back(corpus.statistics({0}));
  CHECK(bytes_of(corpus.merged(overlapping).container().file()) == bytes_of(twice.container().file()));
}

TEST_CASE("the scale of splits is that of the whole corpus", "[shards][property]") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SplitCorpus corpus(random_corpus(seed, {60, 120, 40, false}), 1 + seed % 4);
    BuildOptions options;
    options.quantize_bits = 8;
    options.bm25 = {0.9, 0.4};
    const IndexReader index =
        Pipeline::open_index(corpus.pipeline.build(corpus.whole, corpus.pipeline.order(corpus.whole), options));
    const StatisticsReader statistics = corpus.statistics();
    const Scales scales = corpus.scales(statistics, options.bm25);
    CHECK(scales.top == index.manifest().quantize_top);
    CHECK(scales.splits == statistics.splits());
    // The same through a file.
    const StageFile file = corpus.pipeline.new_file();
    write_scales(*file, scales);
    const Scales read = read_scales(ContainerReader(file, FileKind::scales));
    CHECK(read.top == scales.top);
    CHECK(read.bm25 == scales.bm25);
    CHECK(read.splits == scales.splits);
    CHECK(read.statistics_hash == scales.statistics_hash);
  }
}

TEST_CASE("statistics with more tokens in titles than in all are refused", "[shards]") {
  SplitCorpus corpus(random_corpus(1, {60, 120, 40, false}), 2);
  StatisticsManifest manifest = corpus.statistics().manifest();
  manifest.collection.title_tokens = manifest.collection.tokens;
  CHECK(StatisticsManifest::from_json(manifest.to_json(), "statistics").collection.title_tokens ==
        manifest.collection.tokens);
  ++*manifest.collection.title_tokens;
  CHECK_THROWS_AS(StatisticsManifest::from_json(manifest.to_json(), "statistics"), CorruptFile);
}

}  // namespace quern
