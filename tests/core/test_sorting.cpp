#include <algorithm>
#include <map>

#include "quern/core/bytes.hpp"
#include "quern/core/random.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/io/sorted_spool.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

/// Sorting on disk: records by hash, rows by key.
using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

struct Record {
  std::uint64_t hash;
  std::uint64_t value;
  bool operator<(const Record& other) const { return std::tie(hash, value) < std::tie(other.hash, other.value); }
  bool operator==(const Record& other) const = default;
};

struct Row {
  std::string key;
  std::string payload;
  bool operator==(const Row&) const = default;
};

std::vector<Row> sorted(const std::vector<Row>& rows, std::uint64_t memory_bytes) {
  const TemporaryFolder folder;
  ExternalSort sort(folder.path(""), memory_bytes);
  for (const Row& row : rows) sort.add(row.key, as_bytes(row.payload));
  std::vector<Row> out;
  sort.merge([&](std::string_view key, ByteView payload) {
    out.push_back({std::string(key), std::string(as_text(payload))});
  });
  return out;
}

void check_sorted(std::vector<Row> rows, std::uint64_t memory_bytes) {
  const std::vector<Row> ours = sorted(rows, memory_bytes);
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.key < b.key; });
  REQUIRE(ours.size() == rows.size());
  CHECK(ours == rows);
}

}  // namespace

TEST_CASE("Records come in order and once, in as many parts as the memory asks for", "[core][property]") {
  const TemporaryFolder folder;
  RandomBits random(3);
  SortedSpool<Record> spool(folder.path(""));
  std::vector<Record> wanted;
  for (std::uint64_t i = 0; i < 200000; ++i) {
    // Many equal hashes, and those at the ends of the range.
    std::uint64_t hash = random.next();
    if (i % 5 == 0) hash = random.below(3) == 0 ? 0 : UINT64_MAX - random.below(2);
    wanted.push_back({hash, random.below(10)});
    spool.add(wanted.back());
  }
  std::sort(wanted.begin(), wanted.end());
  REQUIRE(spool.count() == wanted.size());
  for (const std::uint64_t memory_bytes : {std::uint64_t{0}, std::uint64_t{1} << 20, std::uint64_t{1} << 30}) {
    std::vector<Record> ours;
    std::size_t parts = 0;
    bool hashes_stay_together = true;
    spool.for_each_sorted(memory_bytes, [&](std::span<const Record> part) {
      ++parts;
      if (!part.empty() && !ours.empty() && ours.back().hash == part.front().hash) hashes_stay_together = false;
      ours.insert(ours.end(), part.begin(), part.end());
    });
    CHECK(ours == wanted);
    CHECK(hashes_stay_together);
    CHECK((parts > 1) == (memory_bytes < (std::uint64_t{1} << 30)));
  }
}

TEST_CASE("A spool without records hands out none", "[core]") {
  const TemporaryFolder folder;
  SortedSpool<Record> spool(folder.path(""));
  std::size_t records = 0;
  spool.for_each_sorted(0, [&](std::span<const Record> part) { records += part.size(); });
  CHECK(records == 0);
}

TEST_CASE("Rows with few different keys, prefixes and zero bytes come in the order of their keys", "[core][property]") {
  RandomBits random(5);
  std::vector<Row> rows;
  for (int i = 0; i < 60000; ++i) {
    Row row;
    const std::string_view alphabet("a\0\xff", 3);
    for (std::uint64_t length = random.below(20); length > 0; --length) row.key += alphabet[random.below(3)];
    row.payload = std::to_string(i);  // tells equal keys apart: their order must be kept
    rows.push_back(std::move(row));
  }
  check_sorted(rows, 1 << 20);
  check_sorted(rows, 1 << 30);
  check_sorted({}, 1 << 20);
  check_sorted({{"", ""}}, 1 << 20);
  check_sorted({{"b", "1"}, {"", "2"}, {std::string(1, '\0'), "3"}, {"", "4"}, {"b", "5"}}, 1 << 20);
}

TEST_CASE("Rows larger than the reading buffer survive", "[core]") {
  std::vector<Row> rows;
  for (int i = 0; i < 40; ++i) {
    const auto size = static_cast<std::size_t>(1 + (i * 7919) % 200000);
    rows.push_back({std::string(size, static_cast<char>('a' + i % 3)), std::string(size, static_cast<char>(i))});
  }
  check_sorted(rows, 1 << 20);
}

TEST_CASE("More runs than are merged at once are merged in passes, and equal keys keep their order", "[core]") {
  // A budget of 1 MB spills behind each row of more than half of it.
  const TemporaryFolder folder;
  constexpr std::uint32_t num_rows = 270;
  Bytes payload((512 << 10) + 1, 7);
  ExternalSort sort(folder.path(""), 1 << 20);
  std::map<std::string, std::vector<std::uint32_t>> wanted;
  for (std::uint32_t i = 0; i < num_rows; ++i) {
    const std::string key = std::to_string(i * 37 % 10);
    wanted[key].push_back(i);
    store_le(payload.data(), i);
    sort.add(key, payload);
  }
  std::map<std::string, std::vector<std::uint32_t>> ours;
  std::string last;
  sort.merge([&](std::string_view key, ByteView bytes) {
    REQUIRE(key >= last);
    last = key;
    REQUIRE(bytes.size() == payload.size());
    REQUIRE(bytes.back() == 7);
    ours[last].push_back(load_le<std::uint32_t>(bytes.data()));
  });
  CHECK(ours == wanted);
}
