#include "quern/codec/old_newpfd.hpp"
#include "quern/core/error.hpp"

#include "catch.hpp"
#include "codec/newpfd_of_version3.hpp"

namespace quern {
namespace {

std::vector<std::uint32_t> values_of(WordView words, std::size_t count) {
  Simple16Reader reader(words);
  std::vector<std::uint32_t> values(count);
  for (std::uint32_t& value : values) value = reader.next();
  CHECK(reader.words() == words.size());
  return values;
}

}  // namespace

TEST_CASE("Simple16 decodes values of all widths as encoded", "[codec][property]") {
  test::Random random(1);
  for (unsigned trial = 0; trial < 2000; ++trial) {
    const std::vector<std::uint32_t> values =
        test::random_values(random, random() % 255, trial % 29, static_cast<unsigned>(random() % 29),
                            static_cast<unsigned>(random() % 500));
    REQUIRE(values_of(test::simple16_of(values), values.size()) == values);
  }
}

TEST_CASE("each way of Simple16 fills 28 bits and is used", "[codec]") {
  for (unsigned way = 0; way < 16; ++way) {
    std::vector<std::uint32_t> greatest;
    unsigned bits = 0;
    for (const simple16::Run& run : simple16::ways[way])
      for (unsigned i = 0; i < run.count; ++i, bits += run.width) greatest.push_back((1u << run.width) - 1);
    CHECK(bits == 28);
    const Words words = test::simple16_of(greatest);
    REQUIRE(words.size() == 1);
    CHECK(words[0] == (way << 28 | 0x0fffffff));
    CHECK(values_of(words, greatest.size()) == greatest);
  }
}

TEST_CASE("a truncated Simple16 stream is refused", "[codec]") {
  test::Random random(2);
  const std::vector<std::uint32_t> values = test::random_values(random, 200, 9);
  const Words words = test::simple16_of(values);
  for (std::size_t cut = 0; cut < words.size(); ++cut) {
    Simple16Reader reader(WordView(words).first(cut));
    CHECK_THROWS_AS(
        [&] {
          for (unsigned i = 0; i < 200; ++i) reader.next();
        }(),
        CorruptFile);
  }
}

}  // namespace quern
