#include <cstdint>
#include <string>

#include "quern/core/bytes.hpp"

#include "catch.hpp"

using namespace quern;

namespace {

Bytes varint_of(std::uint64_t value) {
  Bytes bytes;
  put_varint(bytes, value);
  return bytes;
}

}  // namespace

TEST_CASE("Variable-length numbers read back, and take a byte per seven bits", "[core]") {
  for (unsigned bits = 0; bits <= 64; ++bits) {
    const std::uint64_t power = bits == 64 ? 0 : std::uint64_t{1} << bits;
    for (const std::uint64_t value : {power, power - 1}) {
      const Bytes bytes = varint_of(value);
      std::size_t length = 1;
      for (std::uint64_t rest = value >> 7; rest > 0; rest >>= 7) ++length;
      CHECK(bytes.size() == length);
      ByteReader reader(bytes, "test");
      CHECK(reader.varint() == value);
      CHECK(reader.done());
    }
  }
  CHECK(varint_of(300) == Bytes{0xac, 0x02});
}

TEST_CASE("Variable-length numbers cut anywhere are refused", "[core]") {
  const Bytes whole = varint_of(UINT64_MAX);
  REQUIRE(whole.size() == 10);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    ByteReader reader(ByteView(whole).first(size), "test");
    CHECK_THROWS_AS(reader.varint(), CorruptFile);
  }
}

TEST_CASE("Numbers with too many bits are refused", "[core]") {
  Bytes bytes(10, 0xff);
  bytes[9] = 0x02;  // bit 64
  CHECK_THROWS_AS(ByteReader(bytes, "test").varint(), CorruptFile);
  bytes[9] = 0x81;  // an eleventh byte
  bytes.push_back(0);
  CHECK_THROWS_AS(ByteReader(bytes, "test").varint(), CorruptFile);
  CHECK(ByteReader(varint_of(0xffffffffu), "test").varint32() == 0xffffffffu);
  CHECK_THROWS_AS(ByteReader(varint_of(0x100000000u), "test").varint32(), CorruptFile);
}

TEST_CASE("Fixed numbers are little-endian, and texts carry their length", "[core]") {
  Bytes bytes;
  put_le(bytes, std::uint32_t{0x01020304});
  put_string(bytes, std::string("a\0b", 3));
  put_string(bytes, "");
  CHECK(bytes == Bytes{4, 3, 2, 1, 3, 'a', 0, 'b', 0});
  ByteReader reader(bytes, "test");
  CHECK(reader.le<std::uint32_t>() == 0x01020304);
  CHECK(reader.string() == std::string_view("a\0b", 3));
  CHECK(reader.string().empty());
  CHECK(reader.done());
  CHECK_THROWS_AS(reader.le<std::uint8_t>(), CorruptFile);
}

TEST_CASE("Any length beyond the end is refused, and the error names the data", "[core]") {
  Bytes bytes = varint_of(UINT64_MAX);
  bytes.push_back('x');
  try {
    ByteReader(bytes, "some file: some section").string();
    FAIL("no error");
  } catch (const CorruptFile& error) {
    CHECK(std::string(error.what()) == "some file: some section: ends too early");
  }
  ByteReader reader(bytes, "test");
  CHECK_THROWS_AS(reader.take(bytes.size() + 1), CorruptFile);
  CHECK(reader.take(bytes.size()).size() == bytes.size());
}
