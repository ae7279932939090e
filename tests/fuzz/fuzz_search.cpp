#include <array>
#include <string_view>

#include "quern/core/error.hpp"
#include "quern/formats/index_file.hpp"

#include "../index/pipeline/use_index.hpp"
#include "container_fuzzing.hpp"
#include "work_folder.hpp"

/// For any contents of an index's sections, queries by every algorithm, intersections by every method and cache plans
/// by every policy find documents of the index or throw a library error. The last byte chooses the operation.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  // Terms of the seeds in all documents, in some, and in one.
  static constexpr std::array<std::string_view, 5> queries = {"mill flour", "flour mill s0 s1", "s2", "mill 7 http",
                                                              "h1 h2 mill flour s3 s4 unknown"};
  if (size == 0) return 0;
  try {
    const IndexReader index = fuzz::index_around({data, size});
    testing::use_index_one_way(index, queries, fuzz::fuzz_resources(), data[size - 1] % testing::ways_to_use_index);
  } catch (const Error&) {
  }
  return 0;
}
