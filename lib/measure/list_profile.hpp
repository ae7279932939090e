#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quern/core/resources.hpp"
#include "quern/formats/index_file.hpp"

/// What an index's lists are like: the figures in which made-up lists must resemble real ones before a measurement on
/// them says anything about real ones.
namespace quern {

/// Frequencies 1, 2, 3 to 4, 5 to 8, and more.
inline constexpr std::size_t freq_classes = 5;

/// Lists of alike length, or all of them.
struct ListClassProfile {
  std::uint64_t min_df = 0;  ///< shorter lists are in the class before
  std::uint64_t lists = 0, postings = 0;
  /// Entropy of the gaps between docIDs in bits a posting: of the gap's magnitude (floor of log2) among the lists of
  /// the class and the same octave of df, with the magnitude's own bits.
  double gap_entropy_bits = 0;
  /// What a posting would take if docIDs were drawn evenly and coded without loss: log2(N over df) / df.
  double random_bits = 0;
  std::array<double, freq_classes> freq_shares = {};
  double mean_freq = 0;
};

/// Values below which 10, 50, 90 and 99 per cent of something lie.
struct Percentiles {
  double p10 = 0, p50 = 0, p90 = 0, p99 = 0;
};

struct ListProfile {
  ListClassProfile all;
  std::vector<ListClassProfile> classes;  ///< by length
  Percentiles lengths;                    ///< of documents, over their mean
  /// Block maxima over their list's greatest impact, in lists of eight blocks and more.
  Percentiles block_maxima;
  std::uint64_t blocks_compared = 0;
  /// Documents with both terms of a pair that stands in a query, over what independence gives: df · df / N.
  std::uint64_t pairs = 0;
  double pairs_mean_ratio = 0;
  Percentiles pairs_ratio;
};

/// Reads all lists, and intersects those of each pair of terms in a query; queries are texts for the index's analyzer.
/// Throws CorruptFile where a block does not decode.
ListProfile profile_lists(const IndexReader& index, std::span<const std::string> queries, const Resources& resources);

}  // namespace quern
