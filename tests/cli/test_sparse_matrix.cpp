#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "quern/core/random.hpp"

#include "catch.hpp"
#include "cli/run_quern.hpp"
#include "corpus/compressing.hpp"
#include "formats/matrix_bytes.hpp"

/// Sparse matrices as corpora and queries of the executable.
namespace quern {
namespace {

using namespace testing;

/// Rows with weights of few bits, so that sums of products of floats are exact in any order.
MatrixFile random_matrix(std::size_t rows, std::uint64_t seed) {
  RandomBits random(seed);
  MatrixFile matrix(40);
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::pair<std::int32_t, float>> weights;
    for (std::int32_t column = 39; column >= 0; --column)
      if (random.below(4) == 0) weights.emplace_back(column, static_cast<float>(1 + random.below(12)) / 8);
    matrix.add(weights);
  }
  return matrix;
}

/// The weight as jsonl.md rounds it; 0 for a column that the row lacks.
double rounded(const MatrixFile& matrix, std::size_t row, std::int32_t column, double scale) {
  for (auto i = matrix.pointers[row]; i < matrix.pointers[row + 1]; ++i)
    if (const auto at = static_cast<std::size_t>(i); matrix.column_numbers[at] == column)
      return std::max(1.0, std::floor(matrix.values[at] * scale + 0.5));
  return 0;
}

/// A score as runs have it: 1e+05 is shorter than 100000.
std::string shortest(double score) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, static_cast<float>(score)).ptr};
}

/// The best k rows for each query, as lines of a run, computed row by row.
std::string plain_run(const MatrixFile& documents, double scale, const MatrixFile& queries, double query_scale,
                      std::size_t k) {
  std::string run;
  for (std::size_t query = 0; query < static_cast<std::size_t>(queries.rows); ++query) {
    std::vector<std::pair<double, std::size_t>> results;  // the score, negated
    for (std::size_t row = 0; row < static_cast<std::size_t>(documents.rows); ++row) {
      double score = 0;
      for (std::int32_t column = 0; column < 40; ++column)
        score += rounded(documents, row, column, scale) * rounded(queries, query, column, query_scale);
      if (score > 0) results.emplace_back(-score, row);
    }
    std::sort(results.begin(), results.end());
    results.resize(std::min(k, results.size()));
    for (std::size_t i = 0; i < results.size(); ++i)
      run += fmt::format("{} Q0 {} {} {} quern\n", query, results[i].second, i + 1, shortest(-results[i].first));
  }
  return run;
}

RunOutcome index_matrix(const TemporaryFolder& folder, const std::string& bytes, const CommandLine& more = {}) {
  CommandLine words = {"index", folder.write("m.csr", bytes), "-o", folder.path("index"), "--force"};
  words.insert(words.end(), more.begin(), more.end());
  return run_quern(words);
}

}  // namespace

TEST_CASE("a matrix is indexed and queried as a plain reference does it", "[cli][impacts]") {
  const TemporaryFolder folder;
  const MatrixFile documents = random_matrix(300, 1), queries = random_matrix(20, 2);
  const std::string query_file = folder.write("q.csr", queries.bytes());
  for (const auto& [bits, scale] : {std::pair("8", "100"), std::pair("16", "1000"), std::pair("8", "0.7")}) {
    const RunOutcome indexed =
        index_matrix(folder, documents.bytes(), {"--impacts", bits, "--impact-scale", scale, "--quiet"});
    INFO(indexed.err);
    REQUIRE(indexed.exit_status == 0);
    CHECK(run_quern({"verify", folder.path("index")}).exit_status == 0);
    const RunOutcome found = run_quern({"query", folder.path("index"), "-q", query_file, "--queries-format", "vector",
                                        "--query-scale", "20", "-k", "15", "--quiet"});
    CHECK(found.out == plain_run(documents, std::stod(scale), queries, 20, 15));
  }
}

TEST_CASE("a compressed matrix and one on standard input give the same bytes", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string bytes = random_matrix(50, 3).bytes();
  const CommandLine options = {"--impacts", "8", "--impact-scale", "100"};
  REQUIRE(index_matrix(folder, bytes, options).exit_status == 0);
  const std::string plain = read_file(folder.path("index/index.quern"));
  REQUIRE(index_matrix(folder, gzipped(bytes), options).exit_status == 0);
  CHECK(read_file(folder.path("index/index.quern")) == plain);
  Surroundings piping;
  piping.input = bytes;
  const RunOutcome piped = run_quern(
      {"index", "-", "-o", folder.path("index"), "--force", "--impacts", "8", "--impact-scale", "100"}, piping);
  REQUIRE(piped.exit_status == 0);
  CHECK(read_file(folder.path("index/index.quern")) == plain);
}

TEST_CASE("wrong matrices are refused with the file and the row", "[cli][impacts]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& bytes, const std::string& message, const CommandLine& more) {
    const RunOutcome outcome = index_matrix(folder, bytes, more);
    INFO(outcome.err);
    CHECK(outcome.exit_status == 1);
    CHECK(contains(outcome.err, "m.csr"));
    CHECK(contains(outcome.err, message));
  };
  const CommandLine options = {"--impacts", "8", "--impact-scale", "100"};
  MatrixFile wrong = random_matrix(50, 4);
  wrong.pointers[20] = wrong.weights + 1;
  refused(wrong.bytes(), "row 19: its weights end at", options);
  const std::string bytes = random_matrix(50, 4).bytes();
  refused(bytes.substr(0, bytes.size() - 1), "ends before the last of its 50 rows", options);
  const std::string cut = gzipped(bytes).substr(0, 300);
  refused(cut, "truncated", options);
  CommandLine skipping = options;
  skipping.push_back("--skip-bad");
  refused(cut, "ends before the last of its 50 rows", skipping);
  refused(bytes, "--impacts N indexes the weights of a vector", {});
  // Documents with wrong weights are bad, and skipped up to a limit.
  CommandLine strict = options;
  strict.insert(strict.end(), {"--max-errors", "0"});
  for (const float value : {-1.0f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    MatrixFile bad = random_matrix(50, 4);
    bad.values[static_cast<std::size_t>(bad.pointers[7])] = value;
    const std::string column = std::to_string(bad.column_numbers[static_cast<std::size_t>(bad.pointers[7])]);
    refused(bad.bytes(), "document 7: its term '" + column + "' has the weight", strict);
  }
  MatrixFile twice = random_matrix(50, 4);
  const auto first = static_cast<std::size_t>(twice.pointers[7]);
  twice.column_numbers[first + 1] = twice.column_numbers[first];
  refused(twice.bytes(), "document 7: its term '" + std::to_string(twice.column_numbers[first]) + "' has two weights",
          strict);
  // Weights of 0 are left out, as in JSON.
  MatrixFile zero(3);
  zero.add({{0, 1}, {2, 0}}).add({{1, 2}});
  REQUIRE(index_matrix(folder, zero.bytes(), options).exit_status == 0);
  CHECK(run_quern({"inspect", folder.path("index"), "--json"}).json()["postings"] == 2);
}

TEST_CASE("a matrix can't be read in ranges", "[cli][impacts]") {
  const TemporaryFolder folder;
  const std::string matrix = folder.write("m.csr", random_matrix(50, 5).bytes());
  const RunOutcome ranges = run_quern({"ranges", matrix, "-n", "2"});
  INFO(ranges.err);
  CHECK(ranges.exit_status == 1);
  CHECK(contains(ranges.err, "is a sparse matrix, which can't be read in ranges"));
}

}  // namespace quern
