#pragma once
#include <algorithm>
#include <bit>

#include "quern/codec/old_newpfd.hpp"

#include "codec/posting_lists.hpp"

/// NewPFD lists as coded up to index version 3, with exceptions in Simple16.
namespace quern::test {

/// The number of values in a word coded in this way.
constexpr unsigned simple16_count(unsigned way) {
  unsigned count = 0;
  for (const simple16::Run& run : simple16::ways[way]) count += run.count;
  return count;
}

/// Whether this way fits the values from `first` on, padded with zeros.
inline bool simple16_fits(unsigned way, std::span<const std::uint32_t> values, std::size_t first) {
  for (const simple16::Run& run : simple16::ways[way])
    for (unsigned i = 0; i < run.count; ++i, ++first)
      if (first < values.size() && values[first] >> run.width != 0) return false;
  return true;
}

/// The Simple16 words of a stream of values below 2^28.
inline Words simple16_of(std::span<const std::uint32_t> values) {
  Words words;
  for (std::size_t i = 0; i < values.size(); i += simple16_count(words.back() >> 28)) {
    unsigned way = 0, bit = 0;
    while (!simple16_fits(way, values, i)) ++way;
    std::uint32_t word = way << 28;
    std::size_t next = i;
    for (const simple16::Run& run : simple16::ways[way])
      for (unsigned j = 0; j < run.count; ++j, ++next, bit += run.width)
        if (next < values.size()) word |= values[next] << bit;
    words.push_back(word);
  }
  return words;
}

/// The words of a stream's exceptions for slots of `width` bits, and their number.
inline Words old_exceptions(std::span<const std::uint32_t> values, unsigned width, unsigned& count) {
  std::vector<std::uint32_t> gaps, highs;
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    const std::uint64_t high = std::uint64_t{values[i]} >> width;
    if (high == 0) continue;
    gaps.push_back(i - next);
    highs.push_back(static_cast<std::uint32_t>(high) - 1);
    next = i + 1;
  }
  count = static_cast<unsigned>(gaps.size());
  gaps.insert(gaps.end(), highs.begin(), highs.end());
  return simple16_of(gaps);
}

/// The smallest width of at least `wanted` that the header and Simple16 can express.
inline unsigned old_width(std::span<const std::uint32_t> values, unsigned wanted) {
  for (unsigned width = wanted;; ++width) {
    if (width == 31) continue;
    const auto is_exception = [&](std::uint32_t value) { return std::uint64_t{value} >> width != 0; };
    const bool fits = std::all_of(values.begin(), values.end(),
                                  [&](std::uint32_t value) { return std::uint64_t{value} >> width <= 1u << 28; });
    if (fits && std::count_if(values.begin(), values.end(), is_exception) <= old_newpfd::max_exceptions) return width;
  }
}

/// The list, coded in slots of random widths.
inline CodedList newpfd_of_version3(const List& list, unsigned block_size, Random& random) {
  CodedList coded;
  for_each_block(list, block_size, [&](auto gaps, auto freqs) {
    old_newpfd::Header header;
    header.docid_width = old_width(gaps, static_cast<unsigned>(random() % 12));
    header.freq_width = old_width(freqs, static_cast<unsigned>(random() % 6));
    const Words docid_words = old_exceptions(gaps, header.docid_width, header.docid_exceptions);
    const Words freq_words = old_exceptions(freqs, header.freq_width, header.freq_exceptions);
    header.docid_exception_words = static_cast<unsigned>(docid_words.size());
    const auto n = static_cast<unsigned>(gaps.size());
    Words block(header.docid_exceptions_word(n) + pack_slack_words);
    block[0] = header.word();
    pack(gaps.data(), n, header.docid_width, block.data(), old_newpfd::Header::docid_slots_bit());
    pack(freqs.data(), n, header.freq_width, block.data(), header.freq_slots_bit(n));
    block.resize(header.docid_exceptions_word(n));
    coded.starts.push_back(coded.words.size());
    for (const Words* part : {&std::as_const(block), &docid_words, &freq_words})
      coded.words.insert(coded.words.end(), part->begin(), part->end());
  });
  coded.starts.push_back(coded.words.size());
  return coded;
}

}  // namespace quern::test
