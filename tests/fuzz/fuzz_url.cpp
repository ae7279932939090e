#include <cstdint>
#include <cstdlib>
#include <string>

#include "quern/text/url.hpp"

/// The first line is a base, the rest a reference. The resolved URL resolves to itself, and keys distinguish URLs.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view base = bytes.substr(0, bytes.find('\n'));
  const std::string_view reference = base.size() < size ? bytes.substr(base.size() + 1) : std::string_view();
  const std::string url = quern::resolve_url(base, reference);
  if (url.size() > quern::max_url_bytes) std::abort();
  if (!url.empty() && quern::resolve_url(base, url) != url) std::abort();
  const bool has_nul = bytes.find('\0') != std::string_view::npos;
  if (!has_nul && base != reference && quern::url_order_key(base) == quern::url_order_key(reference)) std::abort();
  return 0;
}
