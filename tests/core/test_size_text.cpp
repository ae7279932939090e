#include "quern/core/error.hpp"

#include "catch.hpp"

using namespace quern;

TEST_CASE("Sizes are read with units that are powers of 1024", "[core]") {
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("64M") == 64u << 20);
  CHECK(parse_size("64m") == 64u << 20);
  CHECK(parse_size("64MB") == 64u << 20);
  CHECK(parse_size("64MiB") == 64u << 20);
  CHECK(parse_size("1.5G") == 3ull << 29);
  CHECK(parse_size("2T") == 2ull << 40);
  CHECK(parse_size("7B") == 7);
  CHECK(parse_size("0.5K") == 512);
}

TEST_CASE("Text that is not a size is refused, with an example of one", "[core]") {
  for (const char* text :
       {"", "M", "-1", "1e3", "1X", "64 M", "64MM", "64Mi ", "1iB", "inf", "nan", "99999999T", "1,5G", "0x10"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_size(text), InvalidArgument);
  }
}

TEST_CASE("Sizes are written in the shortest exact form, else with one decimal", "[core]") {
  CHECK(size_text(0) == "0");
  CHECK(size_text(1023) == "1023");
  CHECK(size_text(1024) == "1K");
  CHECK(size_text(64u << 20) == "64M");
  CHECK(size_text((1u << 20) + 1) == "1.0M");
  CHECK(size_text(3ull << 29) == "1.5G");
  CHECK(size_text(5000ull << 40) == "5000T");
  for (const std::uint64_t bytes : {1ull, 1023ull, 1024ull, 3ull << 10, 64ull << 20, 1ull << 30, 17ull << 40})
    CHECK(parse_size(size_text(bytes)) == bytes);
}
