#include <cstdint>

#include "quern/formats/corpus/corpus_format.hpp"

#include "corpus_format_fuzzing.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  quern::testing::fuzz_corpus_format(quern::tsv_format, {reinterpret_cast<const char*>(data), size});
  return 0;
}
