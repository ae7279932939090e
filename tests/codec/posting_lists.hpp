#pragma once
#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "quern/codec/codec.hpp"

/// Lists to code, and the steps of an encoder, shared by the codecs' tests.
namespace quern::test {

/// The values of a list as encoders take them: gaps minus one and frequencies minus one.
struct List {
  std::vector<std::uint32_t> gaps, freqs;

  std::size_t size() const { return gaps.size(); }
};

/// A coded list and the offsets of its blocks.
struct CodedList {
  Words words;
  std::vector<std::size_t> starts;  ///< one per block, plus the end
  CodedBits bits;
};

using Random = std::mt19937_64;

/// A value of at most `width` bits; half of them have the top bit set.
inline std::uint32_t random_value(Random& random, unsigned width) {
  return width == 0 ? 0 : static_cast<std::uint32_t>(random() & ((std::uint64_t{1} << width) - 1));
}

/// Values of one width, with `outliers` in a thousand of another.
inline std::vector<std::uint32_t> random_values(Random& random, std::size_t n, unsigned width,
                                                unsigned outlier_width = 0, unsigned outliers = 0) {
  std::vector<std::uint32_t> values(n);
  for (std::uint32_t& value : values) value = random_value(random, random() % 1000 < outliers ? outlier_width : width);
  return values;
}

/// Gaps of a list with clustered documents, as in a collection in URL order; geometric frequencies.
inline List clustered_list(Random& random, std::size_t n, double mean_gap) {
  List list;
  std::geometric_distribution<std::uint32_t> near(0.5), far(1 / (4 * mean_gap)), freq(0.6);
  for (std::size_t i = 0; i < n; ++i) {
    list.gaps.push_back(random() % 4 == 0 ? far(random) : near(random));
    list.freqs.push_back(freq(random));
  }
  return list;
}

/// Calls what(gaps, freqs) for each block.
template <class What>
void for_each_block(const List& list, unsigned block_size, What what) {
  for (std::size_t at = 0; at < list.size(); at += block_size) {
    const std::size_t n = std::min<std::size_t>(block_size, list.size() - at);
    what(std::span(list.gaps).subspan(at, n), std::span(list.freqs).subspan(at, n));
  }
}

inline CodedList encode(ListEncoder& encoder, const List& list, unsigned block_size) {
  CodedList coded;
  encoder.start_list();
  for_each_block(list, block_size, [&](auto gaps, auto freqs) { encoder.observe(gaps, freqs); });
  encoder.put_header(coded.words);
  coded.starts.push_back(coded.words.size());
  for_each_block(list, block_size, [&](auto gaps, auto freqs) {
    encoder.put_block(gaps, freqs, coded.words);
    coded.starts.push_back(coded.words.size());
  });
  coded.bits = encoder.bits();
  return coded;
}

}  // namespace quern::test
