#pragma once
#include <cstdint>

#include "quern/gpu/device/coding.hpp"

/// What kernels see of an index: its own sections, copied unchanged, and where a list stands in them.
namespace quern::gpu {

struct IndexView {
  const std::uint32_t* postings = nullptr;  ///< sections of formats/index.md
  const std::uint32_t* block_last = nullptr;
  const std::uint32_t* block_offset = nullptr;
  const std::uint16_t* block_max = nullptr;  ///< null: not on the device
  const std::uint32_t* impacts = nullptr;
  const float* constants = nullptr;    ///< K of each document
  const float* first_parts = nullptr;  ///< alpha ⊗ PageRank of each document, which its score begins with; null: 0
  std::uint32_t num_documents = 0;
  std::uint32_t block_size = 0;
  std::uint32_t recursion = 0;       ///< of rpfd
  std::uint32_t* scratch = nullptr;  ///< of rpfd, for each warp of the device: see rpfd.cuh
  std::uint32_t* damaged = nullptr;  ///< counts blocks that do not decode
};

/// Where a list stands. A list whose postings came with the batch (short ones, which the lexicon holds) is `raw`: then
/// first_word counts its postings in BatchView's raw arrays.
struct ListView {
  std::uint64_t first_entry = 0;  ///< its postings among BatchView's entries
  std::uint64_t first_word = 0, first_row = 0, first_impact_word = 0;
  std::uint32_t words = 0, df = 0;
  std::uint32_t first_block = 0;  ///< its blocks among all of the batch
  std::uint32_t rows = 0;         ///< block rows; 0 where the list is a single block
  std::uint16_t header_words = 0;
  std::uint8_t impact_width = 0;
  std::uint8_t raw = 0;
};

}  // namespace quern::gpu
