#pragma once
#include <string>

#include "quern/core/random.hpp"

namespace quern::testing {

/// WARC records, about every second one damaged: wrong, missing or huge lengths, unterminated headers, version lines in
/// blocks, gaps, and lines outside of records.
inline std::string damaged_warc(RandomBits& random, int records, std::size_t max_block_bytes = 200) {
  std::string file;
  for (int i = 0; i < records; ++i) {
    const std::string end = random.below(2) == 0 ? "\r\n" : "\n";
    std::string block;
    const std::size_t block_bytes = random.below(max_block_bytes);
    while (block.size() < block_bytes) {
      const char* const parts[] = {"text ",    "\n",           "\nWARC/1.0\n", "\nWARC/",
                                   "\r\n\r\n", "WARC/1.0\r\n", "\nWARC/12x\n"};
      block += parts[random.below(4) == 0 ? random.below(7) : 0];
    }
    std::uint64_t length = block.size();
    if (random.below(3) == 0) length += random.below(max_block_bytes);
    if (random.below(4) == 0) length -= random.below(length + 1);
    if (random.below(20) == 0) length = random.below(2) == 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 20;
    file += "WARC/1.0" + end + "A: " + std::string(random.below(max_block_bytes / 4), 'a') + end;
    if (random.below(8) > 0) file += "Content-Length: " + std::to_string(length) + end;
    if (random.below(10) > 0) file += end;
    file += block;
    file += std::string(random.below(5) == 0 ? random.below(90) : 2, '\n');
    if (random.below(12) == 0) file += "junk" + end;
  }
  return file;
}

}  // namespace quern::testing
