#pragma once
#include <cstdint>
#include <vector>

#include "quern/formats/index_file.hpp"

namespace quern {

/// What an index comes to, in the figures that papers compare.
struct IndexFigures {
  std::uint64_t postings_bytes = 0;   ///< coded postings, those of short lists included
  double docid_bits_per_posting = 0;  ///< coded payload with what decoding needs; no block rows
  double freq_bits_per_posting = 0;
  std::uint64_t block_max_bytes = 0;  ///< block rows, and the lists' greatest and k-th best impacts
  double block_max_bits_per_posting = 0;
  std::uint64_t impact_bytes = 0;  ///< quantized impacts and where each list's begin
  double impact_bits_per_posting = 0;
  std::uint64_t lexicon_bytes = 0;  ///< without short lists and bounds
  double lexicon_bytes_per_term = 0;
  std::uint64_t file_bytes = 0;
  /// Lists and postings by length: row i counts lists of 2^i to 2^(i+1) - 1 postings.
  struct LengthRow {
    std::uint64_t lists = 0, postings = 0;
  };
  std::vector<LengthRow> lengths;
  double lists_in_one_block = 0;  ///< share of all lists
};

IndexFigures index_figures(const IndexReader& index);

}  // namespace quern
