#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "quern/core/error.hpp"
#include "quern/formats/tables/document_tables.hpp"

/// An accepted line has a name and a finite, non-negative score.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  const auto source = ByteSource::from_memory("fuzz", std::string(reinterpret_cast<const char*>(data), size));
  try {
    std::uint64_t last_line = 0;
    read_scores(*source, [&](const ScoreLine& line) {
      if (line.document.empty() || !std::isfinite(line.score) || std::signbit(line.score)) std::abort();
      if (line.number <= last_line) std::abort();
      last_line = line.number;
    });
  } catch (const Error&) {
  }
  return 0;
}
