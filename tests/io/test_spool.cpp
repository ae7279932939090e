#include <unistd.h>

#include "quern/core/bytes.hpp"
#include "quern/core/random.hpp"
#include "quern/io/piece_source.hpp"
#include "quern/io/spool.hpp"

#include "catch.hpp"
#include "corpus/temporary_folder.hpp"

using namespace quern;
using quern::testing::TemporaryFolder;

namespace {

Bytes random_bytes(std::size_t size) {
  RandomBits random(17);
  Bytes bytes(size);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  return bytes;
}

/// A spool of the bytes, appended in pieces of at most `max_piece`.
Spool spool_of(const TemporaryFolder& folder, ByteView bytes, std::size_t buffer_bytes, std::size_t max_piece) {
  RandomBits random(19);
  Spool spool(folder.path(""), buffer_bytes);
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 1 + random.below(max_piece));
    spool.append(bytes.first(size));
    bytes = bytes.subspan(size);
  }
  return spool;
}

Bytes all_of(const Spool& spool) {
  Bytes all;
  spool.for_each_piece([&](ByteView piece) { all.insert(all.end(), piece.begin(), piece.end()); });
  return all;
}

}  // namespace

TEST_CASE("A spool returns its bytes, sequentially and at any offset, in memory and on disk", "[core][property]") {
  const TemporaryFolder folder;
  const Bytes bytes = random_bytes(700000);
  for (const std::size_t buffer_bytes : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
    for (const std::size_t max_piece : {1500u, 300000u}) {
      INFO(buffer_bytes << " bytes of buffer, pieces of up to " << max_piece);
      const Spool spool = spool_of(folder, bytes, buffer_bytes, max_piece);
      CHECK(spool.size() == bytes.size());
      CHECK(all_of(spool) == bytes);
      RandomBits random(23);
      for (int i = 0; i < 200; ++i) {
        const std::size_t from = random.below(bytes.size());
        Bytes some(random.below(std::min<std::size_t>(bytes.size() - from, 5000) + 1));
        spool.read_at(from, some);
        REQUIRE(std::equal(some.begin(), some.end(), bytes.begin() + static_cast<std::ptrdiff_t>(from)));
      }
      // The end may be in the file, in the buffer, or in both.
      Bytes end(2000);
      spool.read_at(bytes.size() - end.size(), end);
      CHECK(std::equal(end.begin(), end.end(), bytes.end() - 2000));
      CHECK_THROWS_AS(spool.read_at(bytes.size() - end.size() + 1, end), CorruptFile);
      CHECK_THROWS_AS(spool.read_at(bytes.size() + 1, end), CorruptFile);
    }
  }
}

TEST_CASE("A spool that was moved to an output is empty and can be filled again", "[core]") {
  const TemporaryFolder folder;
  const Bytes bytes = random_bytes(50000);
  Spool spool = spool_of(folder, bytes, 4096, 3000);
  File file = File::anonymous(folder.path(""));
  FileAppender out(file);
  spool.move_to(out);
  CHECK(spool.size() == 0);
  CHECK(all_of(spool).empty());
  spool.append(ByteView(bytes).first(10000));
  spool.move_to(out);
  out.flush();
  Bytes written(60000);
  file.read_at(0, written);
  CHECK(std::equal(bytes.begin(), bytes.end(), written.begin()));
  CHECK(std::equal(bytes.begin(), bytes.begin() + 10000, written.begin() + 50000));
  CHECK(file.size() == written.size());
}

TEST_CASE("A cleared spool can be filled again, and its pieces join to the appended bytes", "[core]") {
  const TemporaryFolder folder;
  Spool spool(folder.path(""), 100);
  for (const std::size_t size : {50u, 1000u, 0u, 99u, 333u}) {
    spool.clear();
    Bytes bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + size);
    for (std::size_t at = 0; at < size; at += 30)
      spool.append(ByteView(bytes).subspan(at, std::min<std::size_t>(30, size - at)));
    for (const std::size_t begin : {std::size_t{0}, size / 3, size}) {
      SpoolPieces pieces(spool, begin, 64);
      std::string joined;
      for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) joined += piece;
      CHECK(joined == std::string(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end()));
    }
  }
}

TEST_CASE("A range reader joins bytes across its buffer, and ends where the range ends", "[core]") {
  const TemporaryFolder folder;
  Bytes bytes;
  for (std::uint64_t number = 0; number < 20000; ++number) put_varint(bytes, number * number);
  const Spool spool = spool_of(folder, bytes, 5000, 700);
  SpoolReader numbers(spool, 0, spool.size(), 64);
  for (std::uint64_t number = 0; number < 20000; ++number) REQUIRE(numbers.varint() == number * number);
  CHECK_THROWS_AS(numbers.byte(), CorruptFile);

  SpoolReader range(spool, 100, 400, 64);
  REQUIRE(range.have(200));
  CHECK(std::equal(range.data(), range.data() + 200, bytes.begin() + 100));
  range.skip(150);
  REQUIRE(range.have(150));
  CHECK(!range.have(151));
  CHECK(std::equal(range.data(), range.data() + 150, bytes.begin() + 250));
}

TEST_CASE("Records are returned in the order of appending", "[core]") {
  struct Record {
    std::uint64_t number;
    std::uint32_t half;
  };
  const TemporaryFolder folder;
  RecordSpool<Record> spool(folder.path(""));
  CHECK(RecordSpool<Record>::Reader(spool).peek() == nullptr);
  constexpr std::uint32_t records = 100000;
  for (std::uint32_t i = 0; i < records; ++i) spool.add({i, i / 2});
  CHECK(spool.count() == records);
  std::uint64_t next = 0;
  bool in_order = true;
  spool.for_each([&](const Record& record) {
    in_order &= record.number == next && record.half == next / 2;
    ++next;
  });
  CHECK(in_order);
  CHECK(next == records);
  std::vector<Record> some(3);
  spool.read(99997, some);
  CHECK(some[2].number == 99999);
}

TEST_CASE("Runs are merged in groups until few enough are left", "[core]") {
  const TemporaryFolder folder;
  SpooledRuns runs(folder.path(""));
  for (std::uint8_t i = 0; i < 20; ++i) {
    runs.bytes.append(Bytes(1 + i, i));
    runs.end_run();
  }
  const Bytes before = all_of(runs.bytes);
  std::size_t groups = 0;
  runs.merge_down_to(3, [&](const Spool& from, std::span<const SpooledRuns::Run> group, Spool& to) {
    ++groups;
    CHECK(group.size() <= 3);
    for (const SpooledRuns::Run& run : group) {
      Bytes bytes(run.end - run.begin);
      from.read_at(run.begin, bytes);
      to.append(bytes);
    }
  });
  CHECK(groups == 7 + 3);
  CHECK(runs.runs.size() == 3);
  CHECK(all_of(runs.bytes) == before);
}

TEST_CASE("A spool needs a folder only when its buffer is full", "[core]") {
  const TemporaryFolder folder;
  Spool spool(folder.path("missing"), 100);
  spool.append(Bytes(100));
  CHECK(spool.size() == 100);
  CHECK_THROWS_AS(spool.append(Bytes(1)), IoError);
}
