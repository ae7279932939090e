#include <cstdint>
#include <cstdlib>
#include <string>

#include "quern/core/error.hpp"
#include "quern/formats/tables/document_tables.hpp"
#include "quern/text/url.hpp"

/// An accepted line has two names without tabs or line ends, and is the same after being rewritten; normalising URLs
/// again doesn't change them.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  const auto source = ByteSource::from_memory("fuzz", std::string(reinterpret_cast<const char*>(data), size));
  try {
    read_pairs(*source, "from<TAB>to", [](std::string_view from, std::string_view to, std::uint64_t) {
      for (const std::string_view name : {from, to}) {
        if (name.empty() || name.find_first_of("\t\n") != name.npos) std::abort();
        const std::string url = page_url(name);
        if (page_url(url) != url) std::abort();
      }
      std::size_t again = 0;
      const auto written = ByteSource::from_memory("written", "\n" + std::string(from) + "\t" + std::string(to));
      read_pairs(*written, "from<TAB>to", [&](std::string_view from_again, std::string_view to_again, std::uint64_t) {
        if (from_again != from || to_again != to) std::abort();
        ++again;
      });
      if (again != 1) std::abort();
    });
  } catch (const Error&) {
  }
  return 0;
}
