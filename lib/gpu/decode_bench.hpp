#pragma once
#include <cstdint>

#include "quern/core/progress.hpp"
#include "quern/formats/index_file.hpp"

/// How fast a GPU decodes posting lists to its memory. Declared without CUDA, as DeviceIndex is.
namespace quern::gpu {

struct DecodeBenchOptions {
  unsigned gpu = 0;
  std::uint64_t least_postings = 100000;                 ///< of the lists decoded
  std::uint64_t most_postings = std::uint64_t{1} << 31;  ///< in all: lists behind that are left out
  unsigned repeats = 7;
};

struct DecodeFigures {
  std::uint64_t lists = 0, postings = 0, blocks = 0;
  std::uint64_t coded_bytes = 0;      ///< of the lists' words and block rows
  double docids_us = 0, both_us = 0;  ///< of a pass over all lists: docIDs; docIDs and frequencies. Medians
  double copy_bytes_per_s = 0;        ///< device to device, bytes read and bytes written counted
};

/// Decodes the lists `repeats` times, after a pass whose output is compared with the CPU's posting by posting (what
/// stood there before was overwritten with nonsense). Throws Error where they differ, CudaError where the GPU fails,
/// InvalidArgument where no list is long enough.
DecodeFigures measure_decoding(const IndexReader& index, const DecodeBenchOptions& options, Progress& progress);

}  // namespace quern::gpu
