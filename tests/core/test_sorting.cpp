#include <algorithm>
#include <map>

#include "quern/core/bytes.hpp"
#include "quern/core/random.hpp"
#include "quern/io/external_sort.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

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

TEST_CASE("Keys made of numbers sort as the numbers do", "[core][property]") {
  RandomBits random(3);
  using Numbers = std::pair<std::uint64_t, std::uint32_t>;
  std::vector<Numbers> numbers;
  for (int i = 0; i < 20000; ++i) {
    // Makes equal first numbers and extremes of the range likely.
    std::uint64_t first = random.next() >> random.below(64);
    if (i % 5 == 0) first = random.below(3) == 0 ? 0 : UINT64_MAX - random.below(2);
    numbers.emplace_back(first, static_cast<std::uint32_t>(random.next() >> random.below(64)));
  }
  std::vector<std::pair<std::string, Numbers>> keys;
  for (const auto& [first, second] : numbers) {
    keys.emplace_back(SortKey(first, second).view(), Numbers(first, second));
    REQUIRE(keys.back().first.size() == 12);
  }
  std::sort(keys.begin(), keys.end());
  std::sort(numbers.begin(), numbers.end());
  for (std::size_t i = 0; i < keys.size(); ++i) REQUIRE(keys[i].second == numbers[i]);
}

TEST_CASE("Rows with few different keys, prefixes and zero bytes are in key order", "[core][property]") {
  RandomBits random(5);
  std::vector<Row> rows;
  for (int i = 0; i < 60000; ++i) {
    Row row;
    const std::string_view alphabet("a\0\xff", 3);
    for (std::uint64_t length = random.below(20); length > 0; --length) row.key += alphabet[random.below(3)];
    row.payload = std::to_string(i);  // distinguishes equal keys, whose order must be kept
    rows.push_back(std::move(row));
  }
  check_sorted(rows, 1 << 20);
  check_sorted(rows, 1 << 30);
  check_sorted({}, 1 << 20);
  check_sorted({{"", ""}}, 1 << 20);
  check_sorted({{"b", "1"}, {"", "2"}, {std::string(1, '\0'), "3"}, {"", "4"}, {"b", "5"}}, 1 << 20);
}

TEST_CASE("Rows larger than the read buffer are returned completely", "[core]") {
  std::vector<Row> rows;
  for (int i = 0; i < 40; ++i) {
    const auto size = static_cast<std::size_t>(1 + (i * 7919) % 200000);
    rows.push_back({std::string(size, static_cast<char>('a' + i % 3)), std::string(size, static_cast<char>(i))});
  }
  check_sorted(rows, 1 << 20);
}

TEST_CASE("Runs beyond the fan-in are merged in passes, and equal keys keep their order", "[core]") {
  // With a budget of 1 MB, every row larger than half of it makes a run of its own.
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
