#include "quern/core/error.hpp"
#include "quern/index/verify_index.hpp"

#include "catch.hpp"
#include "lab/synth/synth_testing.hpp"
#include "sanitized.hpp"

/// Synthetic indexes.
namespace quern {
namespace {

using namespace testing;

SynthOptions small_options(std::uint64_t documents) {
  SynthOptions options;
  options.table = small_table(documents);
  return options;
}

}  // namespace

TEST_CASE("a synthetic index has the table's terms and passes verification", "[synth]") {
  for (const std::uint64_t documents : {1, 2, 100, 5000}) {
    for (const bool by_score : {false, true}) {
      INFO(documents << " documents" << (by_score ? " by score" : ""));
      Pipeline pipeline;
      SynthOptions options = small_options(documents);
      options.order_by_score = by_score;
      const IndexReader index = Pipeline::open_index(synthesize(options, pipeline));
      verify_index(index, pipeline.resources);
      CHECK(index.num_documents() == documents);
      CHECK(index.manifest().terms == options.table.terms.size());
      CHECK(index.manifest().postings == options.table.postings());
      CHECK(index.manifest().lengths == Lengths::lossy);
      CHECK(index.manifest().order == (by_score ? "score" : "url"));
      for (const DfEntry& entry : options.table.terms) REQUIRE(docids_of(index, entry.term).size() == entry.df);
    }
  }
}

TEST_CASE("neither threads nor memory change a synthetic index", "[synth]") {
  for (const bool by_score : {false, true}) {
    SynthOptions options = small_options(150000);
    options.order_by_score = by_score;
    Bytes first;
    for (const unsigned threads : {1u, 2u, 5u}) {
      if (sanitized && threads == 2) continue;  // it takes minutes
      // Lists of more than 64 Ki postings are in pieces; permuted ones are in files with the smallest budget.
      for (const std::uint64_t memory : {std::uint64_t{20} << 20, std::uint64_t{1} << 30}) {
        Pipeline pipeline;
        pipeline.resources.threads = threads;
        pipeline.resources.memory_bytes = memory;
        const Bytes bytes = bytes_of(*synthesize(options, pipeline));
        if (first.empty()) first = bytes;
        CHECK((bytes == first));
      }
    }
    Pipeline pipeline;
    options.seed = 2;
    CHECK((bytes_of(*synthesize(options, pipeline)) != first));
  }
}

TEST_CASE("in score order, docIDs follow decreasing global scores that no impact exceeds", "[synth]") {
  Pipeline pipeline;
  SynthOptions options = small_options(3000);
  options.order_by_score = true;
  options.scores.alpha = 0.4;
  options.scores.pagerank_scale = PagerankScale::linear;
  const IndexReader index = Pipeline::open_index(synthesize(options, pipeline));
  const auto pagerank = index.pagerank(), scores = index.global_scores();
  REQUIRE(scores.size() == index.num_documents());
  CHECK(std::is_sorted(scores.begin(), scores.end(), std::greater<>()));
  CHECK(*std::max_element(pagerank.begin(), pagerank.end()) == 1);
  CHECK(*std::min_element(pagerank.begin(), pagerank.end()) > 0);
  const double average = index.manifest().statistics.average_length();
  std::vector<float> bests(index.num_documents());
  for (const DfEntry& entry : options.table.terms) {
    const auto list = index.find(entry.term);
    for (PostingCursor cursor(index, *list); cursor.docid() != end_docid; cursor.next()) {
      const float constant = document_constant(index.length(cursor.docid()), average, index.manifest().bm25);
      bests[cursor.docid()] = std::max(bests[cursor.docid()], impact(cursor.freq(), constant));
    }
  }
  for (docid_t docid = 0; docid < index.num_documents(); ++docid) {
    const double score = 0.4 * pagerank[docid] + 0.6 * bests[docid];
    REQUIRE(scores[docid] > score);
    REQUIRE(scores[docid] < score * 1.0001);
  }
}

TEST_CASE("both orders of a synthetic index contain the same documents", "[synth]") {
  Pipeline pipeline;
  SynthOptions options = small_options(2000);
  options.pagerank = true;
  const IndexReader by_url = Pipeline::open_index(synthesize(options, pipeline));
  options.order_by_score = true;
  const IndexReader by_score = Pipeline::open_index(synthesize(options, pipeline));
  CHECK(by_url.global_scores().empty());
  std::string last;
  for (docid_t docid = 0; docid < by_url.num_documents(); ++docid) {
    const std::string url = by_url.text(docid).url;
    REQUIRE(last < url);
    last = url;
    const auto same = by_score.find_docno(by_url.docno(docid));
    REQUIRE(same);
    REQUIRE(by_score.text(*same).url == url);
    REQUIRE(by_score.length(*same) == by_url.length(docid));
    REQUIRE(by_score.pagerank()[*same] == by_url.pagerank()[docid]);
  }
  for (const DfEntry& entry : options.table.terms) {
    std::set<std::string_view> documents, same;
    for (const docid_t docid : docids_of(by_url, entry.term)) documents.insert(by_url.docno(docid));
    for (const docid_t docid : docids_of(by_score, entry.term)) same.insert(by_score.docno(docid));
    REQUIRE(documents == same);
  }
}

TEST_CASE("impossible synthetic indexes are refused", "[synth]") {
  Pipeline pipeline;
  const auto refused = [&](const SynthOptions& options) {
    CHECK_THROWS_AS(synthesize(options, pipeline), InvalidArgument);
  };
  SynthOptions options = small_options(100);
  options.table.documents = 0;
  refused(options);
  options.table.documents = 0xffffffff;
  refused(options);
  options.table.documents = 4000000000;  // more than the budget
  refused(options);
  options = small_options(100);
  options.clustering = 1.1;
  refused(options);
  options.clustering = 0.5;
  options.scores.alpha = -1;
  refused(options);
  options.scores.alpha = 0.3;
  options.mean_length = -1;
  refused(options);
}

}  // namespace quern
