#pragma once
#include <cstdint>
#include <vector>

#include "quern/core/progress.hpp"
#include "quern/formats/index_file.hpp"

/// How fast a GPU decodes posting lists to its memory. Declared without CUDA, as DeviceIndex is.
namespace quern::gpu {

/// Lists of `from` postings and more, and fewer than `to`; no bound where `to` is 0.
struct ListLengths {
  std::uint64_t from = 0, to = 0;
};

struct DecodeBenchOptions {
  unsigned gpu = 0;
  std::vector<ListLengths> groups = {{100000, 0}};      ///< of lists that are decoded together
  std::uint64_t max_postings = std::uint64_t{1} << 31;  ///< of a group: lists behind that are left out
  unsigned repeats = 7;
};

struct DecodeFigures {
  ListLengths lengths;
  std::uint64_t lists = 0, postings = 0, blocks = 0;
  std::uint64_t coded_bytes = 0;      ///< of the lists' words and block rows
  double docids_us = 0, both_us = 0;  ///< of a pass over all lists: docIDs; docIDs and frequencies. Medians
  double copy_bytes_per_s = 0;        ///< device to device, bytes read and bytes written counted
  /// Some of the lists, each by a launch of its own, one behind another: what short lists cost a GPU that is given them
  /// one at a time (Ding et al., figure 4). DocIDs alone.
  std::uint64_t single_lists = 0, single_postings = 0;
  double single_us = 0;
};

/// Decodes the lists of each group `repeats` times, after a pass whose output is compared with the CPU's posting by
/// posting (what stood there before was overwritten with nonsense). Lists of a single block have no rows, and are left
/// out, as are groups without lists. Throws Error where outputs differ, CudaError where the GPU fails, InvalidArgument
/// where no group has a list.
std::vector<DecodeFigures> measure_decoding(const IndexReader& index, const DecodeBenchOptions& options,
                                            Progress& progress);

}  // namespace quern::gpu
