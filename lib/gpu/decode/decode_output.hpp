#pragma once
#include <cstdint>

namespace quern::gpu {

/// Where decoded postings go: the lists one after another.
struct DecodeOutput {
  std::uint32_t* docids = nullptr;
  std::uint32_t* freqs = nullptr;                ///< null: docIDs alone
  const std::uint64_t* first_posting = nullptr;  ///< of each list in the output
  const std::uint64_t* first_block = nullptr;    ///< of each list among all; with the end behind the last
  std::uint64_t end_block = 0;                   ///< behind the last that is decoded
  std::uint64_t begin_block = 0;                 ///< the first list's first
};

}  // namespace quern::gpu
