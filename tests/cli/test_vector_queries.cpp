#include <algorithm>
#include <map>
#include <set>

#include "quern/formats/tables/query_times.hpp"
#include "quern/search/intersect.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "corpus/temporary_folder.hpp"

/// Weighted queries in commands other than query, which find and read the same as query.
namespace quern {
namespace {

using namespace testing;

RunOutcome run_with_success(const CommandLine& words) {
  RunOutcome outcome = run_quern(words);
  INFO(outcome.err);
  REQUIRE(outcome.exit_status == 0);
  return outcome;
}

/// An index of the sample, and its log in two forms: as texts, and as vectors with the same terms.
struct TwoLogs {
  TemporaryFolder folder;
  std::string index = folder.path("index"), texts, vectors;

  TwoLogs() {
    run_with_success({"index", sample_folder + "/corpus", "-o", index, "--block-size", "64", "--quantize", "8"});
    std::string lines, objects;
    const CommandLine queries = {"water mill", "mill water", "grain",      "the of and",    "nowhere mill",
                                 "stone",      "wheel",      "water wind", "the mill of a", "grinding grain"};
    for (std::size_t i = 0; i < 300; ++i) {
      const std::string& query = queries[i % queries.size()];
      lines += query + "\n";
      objects += "{\"id\": " + std::to_string(i + 1) + ", \"vector\": {\"unused\": 0";
      for (std::size_t at = 0; at < query.size();) {
        const std::size_t end = std::min(query.find(' ', at), query.size());
        objects += ", \"" + query.substr(at, end - at) + "\": " + std::to_string(1 + i % 7);
        at = end + 1;
      }
      objects += "}}\n";
    }
    texts = folder.write("texts", lines);
    vectors = folder.write("vectors", objects);
  }

  CommandLine with_texts(CommandLine words) const {
    words.insert(words.end(), {"-q", texts, "--queries-format", "lines"});
    return words;
  }
  CommandLine with_vectors(CommandLine words) const {
    words.insert(words.end(), {"-q", vectors, "--queries-format", "vector"});
    return words;
  }
};

/// The docnos of each query's documents, from lines with tabs or from a run.
std::map<std::string, std::set<std::string>> documents_by_query(const std::string& out) {
  std::map<std::string, std::set<std::string>> documents;
  for (const std::string& line : lines_of(out)) {
    const std::size_t query = line.find_first_of(" \t"), middle = line.find_first_of(" \t", query + 1);
    const std::size_t end = line.find_first_of(" \t", middle + 1);
    documents[line.substr(0, query)].insert(line.substr(middle + 1, end - middle - 1));
  }
  return documents;
}

}  // namespace

TEST_CASE("intersect finds the documents with all terms of a vector", "[cli][impacts][intersect]") {
  const TwoLogs logs;
  const auto ranked =
      documents_by_query(run_with_success(logs.with_vectors({"query", logs.index, "-a", "and", "-k", "100000"})).out);
  REQUIRE(ranked.size() > 100);
  for (const IntersectionMethod& method : all_intersection_methods()) {
    const CommandLine intersect = {"intersect", logs.index, "--method", std::string(method.name)};
    const std::string found = run_with_success(logs.with_vectors(intersect)).out;
    CHECK(documents_by_query(found) == ranked);
    CHECK(found == run_with_success(logs.with_texts(intersect)).out);
  }
  const RunOutcome one = run_with_success({"intersect", logs.index, "--query", "{\"mill\": 0.5, \"nowhere\": 0}",
                                           "--queries-format", "vector", "--json", "--count"});
  CHECK(one.json()["query"] == "{\"mill\": 0.5, \"nowhere\": 0}");
  CHECK(one.json()["count"].get<std::size_t>() ==
        lines_of(run_with_success({"intersect", logs.index, "--query", "mill"}).out).size());
  CHECK(one.err.empty());
}

TEST_CASE("plans and their simulation use the terms of vectors", "[cli][impacts][cache]") {
  const TwoLogs logs;
  const std::string by_texts = logs.folder.path("texts.plan"), by_vectors = logs.folder.path("vectors.plan");
  const CommandLine plan = {"plan", logs.index, "--budget", "30%", "--json", "-o"};
  const auto plan_of = [&](CommandLine words, const std::string& path) {
    words.push_back(path);
    return words;
  };
  auto made_of_texts = run_with_success(logs.with_texts(plan_of(plan, by_texts))).json();
  auto made_of_vectors = run_with_success(logs.with_vectors(plan_of(plan, by_vectors))).json();
  CHECK(made_of_vectors["queries"] == 300);
  CHECK(made_of_vectors["cached_blocks"].get<int>() > 0);
  for (auto* made : {&made_of_texts, &made_of_vectors}) made->erase("log_hash");
  CHECK(made_of_vectors == made_of_texts);

  const auto simulated = [&](const CommandLine& words) { return run_with_success(words).json()["results"]; };
  const CommandLine simulate = {"simulate", "cache", logs.index, "--json", "--plan", by_vectors};
  CHECK(simulated(logs.with_vectors(simulate)) == simulated(logs.with_texts(simulate)));
  const CommandLine sweep = {"simulate", "cache", logs.index, "--json", "--budget", "20%,50%", "--train"};
  const auto vector_figures = simulated(logs.with_vectors(plan_of(sweep, logs.vectors)));
  CHECK(vector_figures == simulated(logs.with_texts(plan_of(sweep, logs.texts))));
  CHECK(vector_figures.size() == 2 * 4);
}

TEST_CASE("benchmarks answer weighted queries", "[cli][impacts][measure]") {
  const TwoLogs logs;
  const auto times_of = [&](const CommandLine& words, const std::string& path) {
    CommandLine all = words;
    all.insert(all.end(), {"-a", "maxscore", "-k", "10", "--repeats", "1", "--json", "--times", path});
    run_with_success(all);
    return parse_query_times(read_file(path), path).rows;
  };
  const CommandLine bench = {"bench", "query", logs.index};
  const auto text_figures = times_of(logs.with_texts(bench), logs.folder.path("texts.tsv"));
  const auto vector_figures = times_of(logs.with_vectors(bench), logs.folder.path("vectors.tsv"));
  REQUIRE(vector_figures.size() == 300);
  for (std::size_t i = 0; i < vector_figures.size(); ++i) {
    CHECK(vector_figures[i].features.terms == text_figures[i].features.terms);
    CHECK(vector_figures[i].features.postings == text_figures[i].features.postings);
  }
  const CommandLine quantized = {"bench",  "query",     logs.index, "--scores", "quantized",     "-k", "10", "-a",
                                 "or,bmw", "--repeats", "1",        "--json",   "--query-scale", "2.5"};
  CHECK(run_with_success(logs.with_vectors(quantized)).json()["results"].size() == 2);

  const CommandLine intersections = {"bench", "intersect", logs.index, "--repeats", "1", "--json"};
  const auto intersected = run_with_success(logs.with_vectors(intersections)).json();
  const auto by_text = run_with_success(logs.with_texts(intersections)).json();
  for (std::size_t i = 0; i < intersected["results"].size(); ++i)
    for (const char* figure : {"queries", "results"})
      CHECK(intersected["results"][i][figure] == by_text["results"][i][figure]);

  const CommandLine lists = {"bench", "gpu-cache", logs.index, "--replay", "--json"};
  CHECK(run_with_success(logs.with_vectors(lists)).exit_status == 0);
}

TEST_CASE("invalid vectors and unused scales are refused", "[cli][impacts]") {
  const TwoLogs logs;
  const std::string damaged = logs.folder.write("bad", "{\"id\": 1, \"vector\": {\"a\": 1}}\n{\"id\": 2}\n");
  const std::string out = logs.folder.path("out");
  for (const CommandLine& words : {CommandLine{"intersect", logs.index}, CommandLine{"bench", "query", logs.index},
                                   CommandLine{"simulate", "cache", logs.index, "--train", logs.vectors},
                                   CommandLine{"plan", logs.index, "--budget", "20%", "-o", out}}) {
    CommandLine all = words;
    all.insert(all.end(), {"-q", damaged, "--queries-format", "vector"});
    const RunOutcome outcome = run_quern(all);
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, "line 2"));
  }
  const RunOutcome scaled = run_quern(logs.with_texts({"bench", "query", logs.index, "--query-scale", "2"}));
  CHECK(scaled.exit_status == 2);
  CHECK(contains(scaled.err, "--queries-format vector"));
  const RunOutcome text = run_quern(logs.with_vectors({"bench", "query", logs.index, "--visits"}));
  CHECK(text.exit_status == 2);
  CHECK(contains(text.err, "vector"));
}

}  // namespace quern
