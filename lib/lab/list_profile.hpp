#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/search/query_terms.hpp"

/// Properties of an index's lists. Measurements on synthetic lists are meaningful only if these resemble real ones.
namespace quern {

/// Frequencies 1, 2, 3 to 4, 5 to 8, and more.
inline constexpr std::size_t freq_classes = 5;

/// Lists of similar length, or all lists.
struct ListClassProfile {
  std::uint64_t min_df = 0;  ///< shorter lists are in the previous class
  std::uint64_t lists = 0, postings = 0;
  /// Entropy of the gaps between docIDs, in bits per posting: that of the gap's magnitude (floor of log2) in lists of
  /// the class and the same octave of df, plus the magnitude's own bits.
  double gap_entropy_bits = 0;
  /// Bits per posting if docIDs were random and coded optimally: log2(N choose df) / df.
  double random_bits = 0;
  std::array<double, freq_classes> freq_shares = {};
  double mean_freq = 0;
};

/// The 10th, 50th, 90th and 99th percentiles.
struct Percentiles {
  double p10 = 0, p50 = 0, p90 = 0, p99 = 0;
};

struct ListProfile {
  ListClassProfile all;
  std::vector<ListClassProfile> classes;  ///< by length
  Percentiles lengths;                    ///< of documents, relative to their mean
  /// Block maxima relative to their list's maximum impact, in lists of at least eight blocks.
  Percentiles block_maxima;
  std::uint64_t blocks_compared = 0;
  /// Documents with both terms of a pair that occurs in a query, relative to independent terms: df · df / N.
  std::uint64_t pairs = 0;
  double pairs_mean_ratio = 0;
  Percentiles pairs_ratio;
  double postings_per_query = 0;  ///< in the lists of a query's terms
};

/// Reads all lists, and intersects the lists of each pair of terms in a query. Throws CorruptFile if a block cannot be
/// decoded.
ListProfile profile_lists(const IndexReader& index, std::span<const QueryView> queries, const Resources& resources);

/// Median microseconds from a query's arrival until an idle thread starts on it: the overhead of dispatcher and system
/// for queries that take no time. At least 1 thread and more than 0 queries per second. Measures for at most a fifth of
/// a second.
double measure_hand_over_us(unsigned threads, double queries_per_second);

// Posting lists for codec benchmarks.

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
/// if the name is unknown.
std::vector<LengthGroup> length_groups(std::string_view name);

/// Adds the index's lists, in order, to the groups, except lists with which a group would exceed `max_postings`
/// postings. Throws CorruptFile if a list cannot be decoded.
void fill_groups(const IndexReader& index, std::uint64_t max_postings, std::span<LengthGroup> groups);

}  // namespace quern
