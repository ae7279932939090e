#include <cstdio>
#include <string_view>

#include "quern/core/bytes.hpp"
#include "quern/core/version.hpp"
#include "quern/io/zstd_frame.hpp"

/// Whether x * x - y is rounded after the multiplication: for these numbers the difference is 0 then, else 2^-60.
/// Scores, which core/bm25.hpp computes in the including program, have the library's bits only so.
bool multiplications_are_rounded() {
  volatile double x = 1 + 0x1p-30, y = 1 + 0x1p-29;
  const double a = x, b = y;
  return a * a - b == 0;
}

// Uses the library as another program would; its exit status is the test's.
int main() {
  if (!multiplications_are_rounded()) {
    std::puts("this program fuses multiplication and addition: quern::quern has to forbid it");
    return 1;
  }
  const std::string_view text = "a quern is a hand mill";
  quern::Bytes frame, back;
  quern::ZstdCompressor().append(quern::as_bytes(text), frame);
  quern::ZstdDecompressor().decompress(frame, text.size(), back, "frame");
  std::printf("%s\n", quern::version());
  return quern::as_text(back) == text ? 0 : 1;
}
