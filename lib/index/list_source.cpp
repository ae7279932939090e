#include "quern/index/list_source.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace quern {
namespace {

constexpr unsigned max_digit_bits = 11;
constexpr std::size_t min_part = 1 << 14;

/// Cuts `bits` into the fewest digits, all of about the same width.
unsigned digit_bits(unsigned bits) {
  const unsigned passes = (bits + max_digit_bits - 1) / max_digit_bits;
  return (bits + passes - 1) / passes;
}

/// One stable pass over the digit that `digit_of` gives, from `from` to `to`.
template <class DigitOf>
void distribute(const std::vector<Posting>& from, std::vector<Posting>& to, unsigned bits, std::size_t parts,
                DigitOf&& digit_of) {
  const std::size_t size = from.size(), digits = std::size_t{1} << bits;
  const auto part_begin = [&](std::size_t part) { return size * part / parts; };
  std::vector<std::vector<std::size_t>> places(parts, std::vector<std::size_t>(digits, 0));
  tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
    auto& counts = places[part];
    for (std::size_t i = part_begin(part); i < part_begin(part + 1); ++i) ++counts[digit_of(from[i])];
  });
  std::size_t place = 0;
  for (std::size_t digit = 0; digit < digits; ++digit)
    for (auto& counts : places) place += std::exchange(counts[digit], place);
  tbb::parallel_for(std::size_t{0}, parts, [&](std::size_t part) {
    auto& next = places[part];
    for (std::size_t i = part_begin(part); i < part_begin(part + 1); ++i) to[next[digit_of(from[i])]++] = from[i];
  });
}

/// Sorts stably by the number that `key_of` gives.
template <class KeyOf>
void sort_by(std::vector<Posting>& postings, std::vector<Posting>& scratch, std::size_t parts, KeyOf&& key_of) {
  std::uint32_t seen = 0;
  bool sorted = true;
  for (std::size_t i = 0; i < postings.size(); ++i) {
    seen |= key_of(postings[i]);
    sorted &= i == 0 || key_of(postings[i - 1]) <= key_of(postings[i]);
  }
  if (sorted) return;
  const unsigned total = static_cast<unsigned>(std::bit_width(seen)), bits = digit_bits(total);
  const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
  for (unsigned shift = 0; shift < total; shift += bits) {
    distribute(postings, scratch, bits, parts, [&](const Posting& posting) { return key_of(posting) >> shift & mask; });
    postings.swap(scratch);
  }
}

}  // namespace

void sort_postings(std::vector<Posting>& postings, std::vector<Posting>& scratch, unsigned threads) {
  scratch.resize(postings.size());
  const std::size_t parts = std::clamp<std::size_t>(postings.size() / min_part, 1, threads);
  sort_by(postings, scratch, parts, [](const Posting& posting) { return posting.docid; });
  sort_by(postings, scratch, parts, [](const Posting& posting) { return posting.term; });
}

}  // namespace quern
