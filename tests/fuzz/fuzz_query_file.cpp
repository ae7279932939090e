#include <cstdint>
#include <cstdlib>
#include <iterator>

#include "quern/core/error.hpp"
#include "quern/formats/queries/query_file.hpp"

/// The first byte chooses the format, and whether fields are named. Any bytes give queries with ids, or a library
/// error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  quern::QueryLayout layout = quern::query_formats[data[0] % 32 % std::size(quern::query_formats)].value;
  if (data[0] & 32) layout.id_field = "code";
  if (data[0] & 64) layout.text_fields = {"topic", "desc"};
  try {
    const quern::QueryFile file =
        quern::parse_queries({reinterpret_cast<const char*>(data) + 1, size - 1}, layout, "fuzz");
    if (file.queries.empty()) std::abort();
    for (const quern::Query& query : file.queries) {
      if (query.id.empty()) std::abort();
    }
  } catch (const quern::Error&) {
  }
  return 0;
}
