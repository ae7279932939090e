#include <algorithm>
#include <map>

#include "quern/core/error.hpp"
#include "quern/core/random.hpp"
#include "quern/rank/run_topics.hpp"

#include "catch.hpp"
#include "index/pipeline/pipeline.hpp"

/// Runs, topics and judgements are joined by topic, for any order of their lines.
namespace quern {
namespace {

using namespace testing;

constexpr docid_t pages = 300;

/// An index of the pages D0, D1, ... in this order.
struct PlainIndex {
  Pipeline pipeline;
  StageFile file;

  PlainIndex() {
    std::string corpus;
    for (docid_t i = 0; i < pages; ++i)
      corpus += "<DOC>\n<DOCNO>D" + std::to_string(i) + "</DOCNO>\n<DOCHDR>\nhttp://e/\n</DOCHDR>\nmill\n</DOC>\n";
    const StageFile parsed = pipeline.parse(corpus);
    const CollectionReader collection(parsed);
    file = pipeline.build(collection, pipeline.order(collection), {});
  }
};

struct Line {
  std::string qid;
  docid_t docid;
  float score;
};

/// Random lines of topics, each with some documents; grouped by topic or not.
std::vector<Line> random_run(RandomBits& random, std::size_t topics, bool grouped) {
  std::vector<Line> lines;
  for (std::size_t topic = 0; topic < topics; ++topic)
    for (docid_t docid = 0; docid < pages; ++docid)
      if (random.below(topic % 5 + 1) == 0)
        lines.push_back({std::to_string(topic * 7919 % 1000), docid, static_cast<float>(random.below(1000))});
  const auto shuffle = [&](auto begin, auto end) {
    for (auto at = begin; at != end; ++at)
      std::swap(*at, *(at + static_cast<std::ptrdiff_t>(random.below(static_cast<std::uint64_t>(end - at)))));
  };
  if (!grouped) shuffle(lines.begin(), lines.end());
  return lines;
}

IndexShards only(IndexReader index) {
  std::vector<IndexReader> indexes;
  indexes.push_back(std::move(index));
  return IndexShards(std::move(indexes));
}

struct Run {
  explicit Run(const PlainIndex& plain, std::uint64_t memory_bytes, bool judged = true)
      : index(only(Pipeline::open_index(plain.file))),
        page_budget(index[0], 1 << 20),
        resources(plain.pipeline.resources) {
    resources.memory_bytes = memory_bytes;
    topics.emplace(index, page_budget, RunTopics::Names{"my.topics", "my.run", judged ? "my.qrels" : ""}, resources);
  }
  void add(const Line& line, std::uint64_t number) {
    topics->add_line({line.qid, "D" + std::to_string(line.docid), 1, true, line.score, line.score, "x"}, number);
  }
  std::vector<TopicResults> all() {
    std::vector<TopicResults> found;
    const std::uint64_t count = topics->join();
    topics->for_each([&](TopicResults topic) { found.push_back(std::move(topic)); });
    CHECK(found.size() == count);
    return found;
  }

  IndexShards index;
  IndexPages page_budget;
  Resources resources;
  std::optional<RunTopics> topics;
};

}  // namespace

TEST_CASE("topics have their documents, texts and relevances, in the run's order", "[rerank][property]") {
  const PlainIndex plain;
  for (const bool grouped : {true, false}) {
    for (const bool judged : {true, false}) {
      RandomBits random(17);
      const std::vector<Line> lines = random_run(random, 40, grouped);
      std::vector<std::string> order;
      std::map<std::string, std::vector<ScoredDocument>> documents;
      std::map<std::pair<std::string, docid_t>, std::int32_t> relevances;
      Run run(plain, std::uint64_t{1} << 20, judged);
      // Topics in the run and others, some twice with the same text.
      for (std::size_t i = 0; i < 1200; ++i)
        run.topics->add_topic(std::to_string(i % 1000), "text of " + std::to_string(i % 1000));
      for (std::size_t i = 0; i < lines.size(); ++i) {
        run.add(lines[i], i + 1);
        if (documents[lines[i].qid].empty()) order.push_back(lines[i].qid);
        documents[lines[i].qid].push_back({lines[i].docid, lines[i].score});
      }
      for (std::uint64_t number = 1; judged && number < 4000; ++number) {
        const std::string qid = std::to_string(random.below(40) * 7919 % 1000);
        const auto docid = static_cast<docid_t>(random.below(pages + 20));
        const auto relevance = static_cast<std::int32_t>(random.below(5)) - 1;
        if (docid < pages && !relevances.emplace(std::pair(qid, docid), relevance).second) continue;
        run.topics->add_judgement({qid, "D" + std::to_string(docid), relevance}, number);
      }
      const std::vector<TopicResults> found = run.all();
      REQUIRE(found.size() == order.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(found[i].qid == order[i]);
        CHECK(found[i].text == "text of " + order[i]);
        CHECK(found[i].documents == documents[order[i]]);
        CHECK(found[i].relevances.size() == (judged ? found[i].documents.size() : 0));
        for (std::size_t d = 0; d < found[i].relevances.size(); ++d) {
          const auto relevance = relevances.find({order[i], found[i].documents[d].docid});
          CHECK(found[i].relevances[d] == (relevance == relevances.end() ? 0 : relevance->second));
        }
      }
    }
  }
}

TEST_CASE("mismatched input, and input that does not fit in memory, is refused", "[rerank]") {
  const PlainIndex plain;
  const auto run_of = [&](std::uint64_t memory_bytes, docid_t documents) {
    auto run = std::make_unique<Run>(plain, memory_bytes);
    run->topics->add_topic("1", "mill");
    for (docid_t docid = 0; docid < documents; ++docid) run->add({"1", docid % pages, 1}, docid + 1);
    return run;
  };
  // 300 documents need 3,600 bytes, and a topic may use an eighth of the memory.
  CHECK(run_of(28800, pages)->all().size() == 1);
  CHECK_THROWS_WITH(run_of(28799, pages)->all(), Catch::Contains("my.run: topic 1 has 300 results and 0 judgements") &&
                                                     Catch::Contains(option_name<"memory">));
  CHECK_THROWS_WITH(run_of(1 << 20, pages + 1)->all(), Catch::Contains("topic 1 has 301 results, more than"));
  const auto twice = run_of(1 << 20, 3);
  twice->add({"1", 2, 1}, 4);
  CHECK_THROWS_WITH(twice->all(), Catch::Contains("my.run: topic 1 has document 'D2' twice"));
  const auto judged_twice = run_of(1 << 20, 3);
  judged_twice->topics->add_judgement({"1", "D5", 1}, 8);
  judged_twice->topics->add_judgement({"1", "D5", 2}, 9);
  CHECK_THROWS_WITH(judged_twice->all(), Catch::Contains("my.qrels, line 9: topic 1 and document 'D5'"));
  const auto no_text = run_of(1 << 20, 3);
  no_text->add({"0", 1, 1}, 4);
  CHECK_THROWS_WITH(no_text->all(), Catch::Contains("my.run, line 4: topic 0 is not in my.topics"));
  const auto two_texts = run_of(1 << 20, 3);
  two_texts->topics->add_topic("1", "wheel");
  CHECK_THROWS_WITH(two_texts->all(), Catch::Contains("my.topics: topic 1 has two texts"));
  const auto run = run_of(1 << 20, 3);
  CHECK_THROWS_WITH(run->add({"1", pages, 1}, 7), Catch::Contains("my.run, line 7: document 'D300' is not in"));
  CHECK_THROWS_WITH(run->add({std::string("1\0", 2), 1, 1}, 7), Catch::Contains("line 7") && Catch::Contains("zero"));
}

}  // namespace quern
