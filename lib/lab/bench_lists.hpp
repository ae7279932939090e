#pragma once
#include "quern/core/types.hpp"

/// Posting lists for codec benchmarks.
namespace quern {

class IndexReader;

/// Posting lists as input of encoders: gaps minus one and frequencies minus one, list after list.
struct BenchLists {
  std::vector<std::uint32_t> gaps, freqs;
  std::vector<std::size_t> ends;  ///< end of each list's values

  std::size_t size() const { return gaps.size(); }
  void add(std::span<const docid_t> docids, std::span<const freq_t> freqs_);
};

/// `postings` postings in lists of `length`, clustered as in a collection in URL order: three of four gaps are small,
/// the others far above the mean. Frequencies are geometric. Deterministic.
BenchLists clustered_lists(std::size_t postings, std::size_t length, double mean_gap, std::uint64_t seed);

/// Lists of similar length: at least `from` postings, and fewer than `to` unless `to` is 0.
struct LengthGroup {
  std::uint64_t from = 0, to = 0;
  BenchLists lists;
};

/// Names of the groupings of lists by length: `classes` (from 17, 100, 1,000 and 10,000 postings on),
/// `doubling` (from 17, 32, 64 and so on, as in Ding et al., figure 4), `all`.
std::vector<std::string> length_groupings();

/// Makes empty groups. The lexicon stores shorter lists than the first group's without a codec. Throws InvalidArgument
/// if there is no such grouping.
std::vector<LengthGroup> length_groups(std::string_view name);

/// Adds the index's lists, in order, to the groups, except lists with which a group would exceed `max_postings`
/// postings. Throws CorruptFile if a list cannot be decoded.
void fill_groups(const IndexReader& index, std::uint64_t max_postings, std::span<LengthGroup> groups);

}  // namespace quern
