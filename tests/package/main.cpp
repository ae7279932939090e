#include <cstdio>
#include <string_view>

#include "quern/core/bytes.hpp"
#include "quern/core/version.hpp"
#include "quern/io/zstd_frame.hpp"

// Uses the library as another program would; its exit status is the test's.
int main() {
  const std::string_view text = "a quern is a hand mill";
  quern::Bytes frame, back;
  quern::ZstdCompressor().append(quern::as_bytes(text), frame);
  quern::ZstdDecompressor().decompress(frame, text.size(), back, "frame");
  std::printf("%s\n", quern::version());
  return quern::as_text(back) == text ? 0 : 1;
}
