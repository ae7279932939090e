#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// Longer URLs are dropped: real ones are shorter, and a long <base> times many links would fill the memory.
inline constexpr std::size_t max_url_bytes = 2048;

/// The target of `href` on the page `base` (RFC 3986, section 5.2); empty if it is not an http, https or ftp URL with a
/// host (javascript:, mailto:, data:) or is longer than max_url_bytes. White space around `href` and line breaks and
/// tabs in it are dropped, other spaces become %20; scheme and host become lower case, a default port and dot segments
/// are removed, an empty path becomes "/"; the rest, including the fragment, stays as written. resolve_url(url, url)
/// normalises a page's own URL in the same way.
std::string resolve_url(std::string_view base, std::string_view href);

/// Resolves many references against one base, which it parses once.
class UrlResolver {
 public:
  explicit UrlResolver(std::string_view base = {}) { set_base(base); }
  void set_base(std::string_view base);
  /// resolve_url(base, href), valid until the next call.
  std::string_view resolve(std::string_view href);

 private:
  void set_path(std::string_view reference_path);

  bool is_base_too_long_ = false;
  std::string scheme_;  ///< the base's scheme, in lower case
  std::string site_;    ///< scheme and authority of resolved URLs; empty if the base has none
  std::string folder_;  ///< site_ and the base's path, without its last segment and the slash before it
  std::string page_;    ///< site_ and the base's path
  std::string query_;   ///< the base's query with its ?, or empty
  std::string url_, cleaned_, path_;
};

/// The canonical form of a page's URL: resolve_url()'s result without the fragment and with normalised percent-encoding
/// (RFC 3986, section 6.2.2: hexadecimal digits in upper case, unreserved characters decoded; a % without them becomes
/// %25). A text that is not a page's URL stays as it is.
std::string page_url(std::string_view url);

/// page_url() of a result of resolve_url(): a view of it, or of `buffer` if something had to change.
std::string_view page_url_of_resolved(std::string_view url, std::string& buffer);

/// Number of nonempty segments of a URL's path: 2 for http://a.example/b//c/?d. 0 without a host.
std::size_t url_path_depth(std::string_view url);

/// A key whose byte order is URL order: host labels from last to first ("org.example.www"), port, path, query, and
/// finally the rest (scheme, case of the host), so that different URLs have different keys. Pages of one host and port
/// sort by the bytes of their paths.
std::string url_order_key(std::string_view url);

}  // namespace quern
