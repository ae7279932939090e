#include <cmath>
#include <limits>

#include "quern/core/random.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/tables/sparse_matrix.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"
#include "formats/matrix_bytes.hpp"
#include "formats/page_example.hpp"

/// Matrices read as lines of JSON: from a file, whose parts lie far apart, and in memory.
namespace quern {
namespace {

using namespace testing;

/// The lines of a matrix whose bytes arrive in parts: `head` first, then the rest.
std::string lines_of_file(const std::string& bytes, std::size_t head, std::size_t room = 1000) {
  const TemporaryFolder folder;
  MatrixLines lines(bytes.substr(0, head), ByteSource::from_memory("m.csr", bytes.substr(std::min(head, bytes.size()))),
                    folder.path(""));
  std::string text;
  Bytes piece(room);
  for (std::size_t size = lines.read(piece); size > 0; size = lines.read(piece))
    text += as_text(ByteView(piece).first(size));
  return text;
}

std::string lines_in_memory(const std::string& bytes) {
  std::string text;
  std::uint64_t last = 0;
  for_each_matrix_line(bytes, "m.csr", ~std::uint64_t{0}, [&](std::string_view line, std::uint64_t number) {
    CHECK(number == ++last);
    (text += line) += '\n';
  });
  return text;
}

/// Both ways of reading fail with this message.
void check_refused(const MatrixFile& matrix, const std::string& message, const std::string& more = "") {
  const std::string bytes = matrix.bytes() + more;
  INFO(message);
  CHECK_THROWS_WITH(lines_of_file(bytes, MatrixHeader::bytes), Catch::Contains(message));
  CHECK_THROWS_WITH(lines_in_memory(bytes), Catch::Contains(message));
}

MatrixFile small_matrix() {
  MatrixFile matrix(5);
  return matrix.add({{4, 1.5f}, {0, 0.25f}}).add({}).add({{2, 3}});
}

const std::string small_lines =
    "{\"id\": 0, \"vector\": {\"4\":1.5,\"0\":0.25}}\n{\"id\": 1, \"vector\": {}}\n{\"id\": 2, \"vector\": "
    "{\"2\":3}}\n";

}  // namespace

TEST_CASE("the worked example of csr.md gives the lines of the page", "[format]") {
  std::string bytes = small_matrix().bytes();
  std::string hex;
  for (const char* part : {"header", "row pointers", "columns", "weights"})
    hex += page_bytes("tables/csr.md", "bytes")[part];
  CHECK(hex_text(as_bytes(bytes)) == hex);
  CHECK(page_block("tables/csr.md", "lines") == small_lines);
  CHECK(lines_in_memory(bytes) == small_lines);
  for (std::size_t head = MatrixHeader::bytes; head <= bytes.size(); ++head)
    CHECK(lines_of_file(bytes, head, head % 7 + 1) == small_lines);
}

TEST_CASE("weights of a matrix keep all bits of their floats", "[format]") {
  RandomBits random(5);
  MatrixFile matrix(std::numeric_limits<std::int32_t>::max());
  std::vector<std::vector<std::pair<std::int32_t, float>>> rows(50);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // The last rows are longer than a piece of a line.
    const std::size_t size = i < 48 ? random.below(20) : 9000;
    for (std::size_t j = 0; j < size; ++j)
      rows[i].emplace_back(static_cast<std::int32_t>(j * 7), std::ldexp(1 + static_cast<float>(random.below(1 << 23)),
                                                                        static_cast<int>(random.below(40)) - 30));
    matrix.add(rows[i]);
  }
  const std::string bytes = matrix.bytes();
  CHECK(lines_of_file(bytes, 100000) == lines_in_memory(bytes));
  const QueryFile queries = parse_queries(bytes, QueryFormat::vector, "m.csr");
  REQUIRE(queries.queries.size() == rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(queries.queries[i].id == std::to_string(i));
    std::vector<QueryTerm> want;
    for (const auto& [column, weight] : rows[i]) want.push_back({std::to_string(column), weight});
    CHECK(parse_query_vector(queries.queries[i].text, "row") == want);
  }
}

TEST_CASE("matrices that contradict themselves are refused with the row", "[format]") {
  MatrixFile wrong = small_matrix();
  wrong.pointers[0] = 1;
  check_refused(wrong, "m.csr: row 0: its first weight has the number 1, not 0");
  wrong = small_matrix();
  wrong.pointers[2] = 1;
  check_refused(wrong, "m.csr: row 1: its weights end at 1, before they begin at 2");
  wrong.pointers[2] = -1;
  check_refused(wrong, "m.csr: row 1: its weights end at -1, before they begin at 2");
  wrong.pointers[2] = 4;
  check_refused(wrong, "m.csr: row 1: its weights end at 4, beyond the 3 of the matrix");
  wrong = small_matrix();
  wrong.pointers[3] = 2;
  check_refused(wrong, "m.csr: its rows have 2 weights, but its header says 3");
  wrong = small_matrix();
  wrong.column_numbers[2] = 5;
  check_refused(wrong, "m.csr: row 2: it has the column 5, but the matrix only 0 to 4");
  wrong.column_numbers[2] = -1;
  check_refused(wrong, "m.csr: row 2: it has the column -1, but the matrix only 0 to 4");
  check_refused(small_matrix(), "m.csr: is longer than its header says", "x");
}

TEST_CASE("a truncated matrix is refused at every length, whatever its header promises", "[format]") {
  const std::string bytes = small_matrix().bytes();
  for (std::size_t size = MatrixHeader::bytes; size < bytes.size(); ++size) {
    CHECK_THROWS_AS(lines_of_file(bytes.substr(0, size), MatrixHeader::bytes), CorruptFile);
    CHECK_THROWS_AS(lines_in_memory(bytes.substr(0, size)), CorruptFile);
  }
  MatrixFile huge = small_matrix();
  huge.rows = std::numeric_limits<std::uint32_t>::max();
  huge.columns = std::int64_t{1} << 31;
  huge.weights = std::int64_t{1} << 60;
  check_refused(huge, "ends before the last of its 4294967295 rows with 1152921504606846976 weights");
}

TEST_CASE("only possible numbers of rows, columns and weights are a matrix", "[format]") {
  const auto is_matrix = [](std::int64_t rows, std::int64_t columns, std::int64_t weights) {
    MatrixFile matrix(columns);
    matrix.rows = rows;
    matrix.weights = weights;
    return read_matrix_header(matrix.bytes()).has_value();
  };
  CHECK(is_matrix(1, 1, 0));
  CHECK(is_matrix(3, 5, 15));
  CHECK_FALSE(is_matrix(0, 5, 0));
  CHECK_FALSE(is_matrix(3, 0, 0));
  CHECK_FALSE(is_matrix(3, 5, 20));
  CHECK_FALSE(is_matrix(std::int64_t{1} << 31, std::int64_t{1} << 31, (std::int64_t{1} << 60) + 1));
  CHECK_FALSE(is_matrix(-3, 5, 2));
  CHECK_FALSE(is_matrix(3, -5, 2));
  CHECK_FALSE(is_matrix(3, 5, -2));
  CHECK_FALSE(is_matrix(std::int64_t{1} << 32, 5, 2));
  CHECK_FALSE(is_matrix(3, (std::int64_t{1} << 31) + 1, 2));
  CHECK_FALSE(read_matrix_header("{\"id\": \"1\", \"vector\": {}}"));
  CHECK_FALSE(read_matrix_header(small_matrix().bytes().substr(0, 23)));
}

TEST_CASE("rows of a matrix are queries only in the format of vectors", "[format]") {
  const std::string bytes = small_matrix().bytes();
  CHECK_THROWS_WITH(parse_queries(bytes, QueryFormat::automatic, "m.csr"), Catch::Contains("is a sparse matrix"));
  CHECK(parse_queries(bytes, QueryFormat::vector, "m.csr").queries ==
        std::vector<Query>{{"0", "{\"4\":1.5,\"0\":0.25}"}, {"1", "{}"}, {"2", "{\"2\":3}"}});
  MatrixFile wrong = small_matrix();
  wrong.values[2] = -1;
  CHECK_THROWS_WITH(parse_queries(wrong.bytes(), QueryFormat::vector, "m.csr"),
                    Catch::Contains("m.csr, line 3") && Catch::Contains("term '2' has the negative weight -1"));
  wrong.values[2] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_WITH(parse_queries(wrong.bytes(), QueryFormat::vector, "m.csr"), Catch::Contains("line 3"));
  wrong = small_matrix();
  wrong.column_numbers[1] = 4;
  CHECK_THROWS_WITH(parse_queries(wrong.bytes(), QueryFormat::vector, "m.csr"),
                    Catch::Contains("line 1") && Catch::Contains("occurs twice"));
}

}  // namespace quern
