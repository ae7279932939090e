#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/core/types.hpp"

/// The posting lists that codecs are measured on.
namespace quern {

class IndexReader;

/// Posting lists as encoders take them: gaps less one and frequencies less one, list after list.
struct BenchLists {
  std::vector<std::uint32_t> gaps, freqs;
  std::vector<std::size_t> ends;  ///< of each list's values

  std::size_t size() const { return gaps.size(); }
  void add(std::span<const docid_t> docids, std::span<const freq_t> freqs_);
};

/// `postings` postings in lists of `length`, documents in clusters as in a collection in URL order: three gaps of four
/// are small, the others far above the mean. Frequencies are geometric. The same for the same numbers and seed.
BenchLists clustered_lists(std::size_t postings, std::size_t length, double mean_gap, std::uint64_t seed);

/// Lists of like length: of `from` postings and more, and fewer than `to`; no bound where `to` is 0.
struct LengthGroup {
  std::uint64_t from = 0, to = 0;
  BenchLists lists;
};

/// Ways to group lists by length, as --lengths takes them: `classes` (from 17, 100, 1,000 and 10,000 postings on),
/// `doubling` (from 17, 32, 64 and so on, as in Ding et al., figure 4), `all`.
std::vector<std::string> length_groupings();

/// Empty groups. Shorter lists than the first group's stand in the lexicon, where no codec codes them. Throws
/// InvalidArgument where no grouping is called so.
std::vector<LengthGroup> length_groups(std::string_view name);

/// Takes the index's lists, in their order, into the groups: each as long as its group holds no more than
/// `max_postings` with it. Throws CorruptFile where a list can't be decoded.
void fill_groups(const IndexReader& index, std::uint64_t max_postings, std::span<LengthGroup> groups);

}  // namespace quern
