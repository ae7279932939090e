#pragma once
#include <cstdint>
#include <vector>

#include "quern/formats/index_file.hpp"

namespace quern {

/// The sizes of an index, in the figures compared by papers.
struct IndexFigures {
  std::uint64_t postings_bytes = 0;   ///< encoded postings, including those of short lists
  double docid_bits_per_posting = 0;  ///< encoded payload and decoding data, without block rows
  double freq_bits_per_posting = 0;
  std::uint64_t block_max_bytes = 0;  ///< block rows, and the lists' greatest and k-th best impacts
  double block_max_bits_per_posting = 0;
  std::uint64_t impact_bytes = 0;  ///< quantized impacts and their offsets and widths
  double impact_bits_per_posting = 0;
  std::uint64_t lexicon_bytes = 0;  ///< without short lists and upper bounds
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
