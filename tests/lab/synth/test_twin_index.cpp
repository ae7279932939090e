#include <cmath>
#include <map>

#include "quern/core/random.hpp"
#include "quern/formats/posting_reader.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"

/// Twins of indexes with given weights: quern synth --df INDEX.
namespace quern {
namespace {

using namespace testing;

constexpr std::size_t source_documents = 150;

void must_succeed(const CommandLine& words) {
  const RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
}

/// An index of documents of some 12 of 40 terms, the first of which are in most of them.
std::string index_of_vectors(const TemporaryFolder& folder, const std::string& order) {
  RandomBits random(11);
  std::string lines;
  for (std::size_t document = 0; document < source_documents; ++document) {
    std::string vector;
    for (std::size_t term = 0; term < 40; ++term)
      if (random.below(40) >= term + 8 * (term > 4))
        vector +=
            (vector.empty() ? "\"t" : ", \"t") + std::to_string(term) + "\": " + std::to_string(1 + random.below(255));
    lines += "{\"id\": \"" + std::to_string(document) + "\", \"vector\": {" + vector + "}}\n";
  }
  const std::string index = folder.path("source-" + order);
  must_succeed({"index", folder.write("vectors.jsonl", lines), "--impacts", "8", "--order", order, "-o", index});
  return index;
}

/// The weights of a document's terms.
using Weights = std::map<std::string, freq_t>;

std::vector<Weights> documents_of(const IndexReader& index) {
  std::vector<Weights> documents(index.num_documents());
  for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
    index.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      for_each_block(index, list, [&](BlockReader& reader) {
        for (unsigned i = 0; i < reader.size(); ++i) documents[reader.docids()[i]].emplace(term, reader.freqs()[i]);
      });
    });
  return documents;
}

/// Whether each term of a document comes from one of these parents, with about its weight.
bool is_mixture(const Weights& document, const Weights& first, const Weights& second) {
  return std::all_of(document.begin(), document.end(), [&](const auto& posting) {
    const auto is_near = [&](const Weights& parent) {
      const auto found = parent.find(posting.first);
      return found != parent.end() && std::abs(1.0 * posting.second - found->second) <= 0.8 * found->second + 1;
    };
    return is_near(first) || is_near(second);
  });
}

/// Checks the documents of a window, [begin, end) of the twin and [first, first + size) of the source: those of each
/// copy are mixtures of the document at their place and one at the copy's distance.
void check_window(std::span<const Weights> twin, std::span<const Weights> window) {
  for (std::size_t base = 0; base < twin.size(); base += window.size()) {
    const std::size_t count = std::min(window.size(), twin.size() - base);
    bool any = false;
    for (std::size_t distance = 1; distance < window.size() && !any; ++distance) {
      any = true;
      for (std::size_t place = 0; place < count && any; ++place)
        any = is_mixture(twin[base + place], window[place], window[(place + distance) % window.size()]);
    }
    CHECK(any);
  }
}

}  // namespace

TEST_CASE("the documents of a twin are mixtures of two documents of its source", "[synth]") {
  const TemporaryFolder folder;
  const std::string order = GENERATE("natural", "bisection");
  const std::size_t documents = GENERATE(100, 150, 1000, 4321);
  const std::string source_path = index_of_vectors(folder, order), twin_path = folder.path("twin");
  must_succeed({"synth", "--df", source_path, "--docs", std::to_string(documents), "-o", twin_path});
  must_succeed({"verify", twin_path});
  const IndexReader source = IndexReader::open(source_path), twin = IndexReader::open(twin_path);
  CHECK(twin.num_documents() == documents);
  CHECK(twin.manifest().order == order);
  CHECK(twin.manifest().impacts == source.manifest().impacts);
  CHECK(twin.manifest().terms == source.manifest().terms);
  const std::vector<Weights> parents = documents_of(source), children = documents_of(twin);
  const std::size_t window = order == "natural" ? source_documents : 64;
  for (std::size_t first = 0; first < source_documents; first += window) {
    const std::size_t size = std::min(window, source_documents - first);
    const std::size_t begin = first * documents / source_documents, end = (first + size) * documents / source_documents;
    check_window(std::span(children).subspan(begin, end - begin), std::span(parents).subspan(first, size));
  }
}

TEST_CASE("a twin has its source's share of documents with a term, and its weights", "[synth]") {
  const TemporaryFolder folder;
  const std::string source_path = index_of_vectors(folder, "natural"), twin_path = folder.path("twin");
  must_succeed({"synth", "--df", source_path, "--docs", "30000", "-o", twin_path});
  const IndexReader source = IndexReader::open(source_path), twin = IndexReader::open(twin_path);
  for (std::uint64_t block = 0; block < source.num_lexicon_blocks(); ++block)
    source.for_each_list(block, [&](std::string_view term, const PostingList& list) {
      const PostingList own = *twin.find(term);
      const double expected = 200.0 * static_cast<double>(list.df), df = static_cast<double>(own.df);
      INFO(term << ": " << list.df << " and " << own.df);
      CHECK(std::abs(df - expected) < 5 * std::sqrt(expected));
      const double weight = static_cast<double>(own.cf) / df;
      const double weight_of_source = static_cast<double>(list.cf) / static_cast<double>(list.df);
      CHECK(std::abs(weight - weight_of_source) < 0.05 * weight_of_source);
    });
}

// With the least memory, the longest lists go through work files.
TEST_CASE("a twin's bytes depend on the seed, not on threads and memory", "[synth]") {
  const TemporaryFolder folder;
  const std::string source = index_of_vectors(folder, "natural");
  const auto twin = [&](const CommandLine& more) {
    const std::string path = folder.path("twin");
    CommandLine words = {"synth", "--df", source, "--docs", "700000", "-o", path, "--force", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    must_succeed(words);
    return IndexReader::open(path).container().content_hash();
  };
  const std::uint64_t hash = twin({"-j", "4", "--memory", "2G"});
  CHECK(twin({"-j", "1", "--memory", "32M"}) == hash);
  CHECK(twin({"--seed", "2"}) != hash);
}

TEST_CASE("quern synth says what does not apply to a twin with given weights", "[cli][synth]") {
  const TemporaryFolder folder;
  const std::string source = index_of_vectors(folder, "natural"), queries = folder.write("q", "t1 t2\n");
  for (const CommandLine& more :
       {CommandLine{"-q", queries}, CommandLine{"--mean-length", "40"}, CommandLine{"--pagerank"},
        CommandLine{"--clustering", "0.4"}, CommandLine{"--df-docs", "9"}, CommandLine{"--order", "score"}}) {
    CommandLine words = {"synth", "--df", source, "-o", folder.path("twin")};
    words.insert(words.end(), more.begin(), more.end());
    const RunOutcome outcome = run_quern(words);
    CHECK(outcome.exit_status == 2);
    CHECK(contains(outcome.err, "has given weights"));
  }
  CHECK(run_quern({"synth", "--df", source, "-o", folder.path("twin"), "--quantize", "8"}).exit_status == 1);
  const std::string lists = folder.write("vectors", "{\"id\": \"1\", \"vector\": {\"t0\": 2, \"t1\": 1}}\n");
  const RunOutcome profile = run_quern({"bench", "lists", source, "-q", lists, "--queries-format", "vector", "--json"});
  CHECK(profile.exit_status == 0);
  const IndexReader index = IndexReader::open(source);
  CHECK(profile.json()["postings_per_query"] == index.find("t0")->df + index.find("t1")->df);
}

}  // namespace quern
