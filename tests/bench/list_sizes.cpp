// Prints as JSON the size of an index's posting lists in other codes, computed from the same lists: the entropy of gaps
// and frequencies, and OptPFD in PISA's layout (blocks of 128: a header word, slots of the width that makes the block
// smallest, exceptions in Simple16; a last short block in binary interpolative code).
//   build/release/tests/list_sizes INDEX
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "quern/codec/newpfd.hpp"
#include "quern/formats/index_file.hpp"
#include "quern/formats/posting_reader.hpp"
#include "quern/lab/measuring.hpp"

namespace {

using namespace quern;

constexpr std::size_t pisa_block = 128;

/// Words of an OptPFD block with slots of `width` bits; a huge number if the exceptions don't fit Simple16.
std::size_t optpfd_words(std::span<const std::uint32_t> values, unsigned width) {
  std::vector<std::uint32_t> coded, highs;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint64_t high = std::uint64_t{values[i]} >> width;
    if (high == 0) continue;
    if (high - 1 >= std::uint64_t{1} << 28) return std::numeric_limits<std::size_t>::max();
    coded.push_back(coded.empty() ? i : i - last - 1);
    highs.push_back(static_cast<std::uint32_t>(high - 1));
    last = i;
  }
  coded.insert(coded.end(), highs.begin(), highs.end());
  std::vector<std::uint8_t> widths(coded.size() + simple16::plan_slack), ways(coded.size());
  for (std::size_t i = 0; i < coded.size(); ++i) widths[i] = static_cast<std::uint8_t>(std::bit_width(coded[i]));
  return 1 + words_of_bits(values.size() * width) +
         simple16::plan(widths.data(), static_cast<unsigned>(coded.size()), ways.data());
}

std::uint64_t optpfd_bits(std::span<const std::uint32_t> values) {
  std::size_t best = std::numeric_limits<std::size_t>::max();
  for (unsigned width = 0; width <= 32; ++width) best = std::min(best, optpfd_words(values, width));
  return best * 32;
}

/// Bits of the binary interpolative code of ascending numbers within [low, high].
double interpolative_bits(std::span<const std::uint64_t> numbers, std::uint64_t low, std::uint64_t high) {
  if (numbers.empty()) return 0;
  const std::size_t middle = numbers.size() / 2;
  const std::uint64_t choices = high - low + 2 - numbers.size();
  const std::uint64_t number = numbers[middle];
  return std::log2(static_cast<double>(choices)) +
         (middle == 0 ? 0 : interpolative_bits(numbers.first(middle), low, number - 1)) +
         (middle + 1 == numbers.size() ? 0 : interpolative_bits(numbers.subspan(middle + 1), number + 1, high));
}

double varint_bits(std::uint64_t value) { return 8.0 * ((std::bit_width(value | 1) + 6) / 7); }

/// A short block: its last number known (docIDs) or written first (frequencies), the others interpolated; whole bytes.
double interpolative_block_bits(std::span<const std::uint32_t> values, bool sum_known) {
  std::vector<std::uint64_t> sums;
  std::uint64_t sum = 0;
  for (const std::uint32_t value : values) sums.push_back(sum += value + 1);
  const double bits = interpolative_bits(std::span<const std::uint64_t>(sums).first(sums.size() - 1), 1, sum - 1);
  return std::ceil(bits / 8) * 8 + (sum_known ? 0 : varint_bits(sum - values.size()));
}

struct Sizes {
  double docid_bits = 0, freq_bits = 0;
  double directory_bits = 0;  ///< list length, largest docIDs, block ends
};

void add_list(const IndexReader& index, const PostingList& list, Sizes& sizes, Histogram& gaps, Histogram& freqs) {
  std::vector<std::uint32_t> gap_values, freq_values;
  docid_t before = end_docid;
  for (PostingCursor cursor(index, list); cursor.docid() != end_docid; cursor.next()) {
    gap_values.push_back(cursor.docid() - before - 1);
    freq_values.push_back(cursor.freq() - 1);
    gaps.add(gap_values.back());
    freqs.add(freq_values.back());
    before = cursor.docid();
  }
  const std::size_t blocks = (gap_values.size() + pisa_block - 1) / pisa_block;
  sizes.directory_bits += varint_bits(list.df) + 32.0 * static_cast<double>(2 * blocks - 1);
  for (std::size_t from = 0; from < gap_values.size(); from += pisa_block) {
    const std::size_t size = std::min(pisa_block, gap_values.size() - from);
    const auto block_gaps = std::span<const std::uint32_t>(gap_values).subspan(from, size);
    const auto block_freqs = std::span<const std::uint32_t>(freq_values).subspan(from, size);
    if (size == pisa_block) {
      sizes.docid_bits += static_cast<double>(optpfd_bits(block_gaps));
      sizes.freq_bits += static_cast<double>(optpfd_bits(block_freqs));
    } else {
      sizes.docid_bits += interpolative_block_bits(block_gaps, true);
      sizes.freq_bits += interpolative_block_bits(block_freqs, false);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: list_sizes INDEX\n", stderr);
    return 2;
  }
  try {
    const IndexReader index = IndexReader::open(argv[1]);
    Sizes sizes;
    Histogram gaps, freqs;
    for (std::uint64_t block = 0; block < index.num_lexicon_blocks(); ++block)
      index.for_each_list(
          block, [&](std::string_view, const PostingList& list) { add_list(index, list, sizes, gaps, freqs); });
    const double postings = static_cast<double>(index.manifest().postings);
    fmt::print(
        "{{\"gap_entropy\":{:.3f},\"freq_entropy\":{:.3f},\"optpfd_docid_bits\":{:.3f},\"optpfd_freq_bits\":{:.3f},"
        "\"optpfd_directory_bits\":{:.3f}}}\n",
        gaps.bits_per_value(), freqs.bits_per_value(), sizes.docid_bits / postings, sizes.freq_bits / postings,
        sizes.directory_bits / postings);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "list_sizes: error: {}\n", error.what());
    return 1;
  }
}
