#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace quern {

/// Longer URLs are not kept: real ones are shorter, and a long <base> times many links would fill the memory.
inline constexpr std::size_t max_url_bytes = 2048;

/// What `href` on the page `base` points to (RFC 3986, section 5.2), or an empty text if that is not an http, https or
/// ftp address with a host (javascript:, mailto:, data:) or is longer than max_url_bytes. White space around `href`
/// and line breaks and tabs in it are dropped, other spaces become %20; scheme and host are put in lower case, a
/// default port and dot segments go, an empty path becomes "/"; the rest, the fragment too, stays as written.
/// resolve_url(url, url) brings a page's own URL to the same form.
std::string resolve_url(std::string_view base, std::string_view href);

/// Resolves many references against one base, which is taken apart once.
class UrlResolver {
 public:
  explicit UrlResolver(std::string_view base = {}) { set_base(base); }
  void set_base(std::string_view base);
  /// resolve_url(base, href), valid until the next call.
  std::string_view resolve(std::string_view href);

 private:
  void set_path(std::string_view reference_path);

  bool is_base_too_long_ = false;
  std::string scheme_;  ///< of the base, in lower case
  std::string site_;    ///< scheme and authority as resolved URLs begin with them; empty if none can
  std::string folder_;  ///< the same, and the base's path without its last segment and the slash before that
  std::string page_;    ///< the same, and the base's path
  std::string query_;   ///< the base's query with its ?, or empty
  std::string url_, cleaned_, path_;
};

/// The form in which two URLs of one page are the same text: what resolve_url() makes of it, without the fragment, with
/// percent-encoding normalised (RFC 3986, section 6.2.2: hexadecimal digits in upper case, unreserved characters
/// decoded; a % without them is %25). A text that is no URL of a page stays as it is.
std::string page_url(std::string_view url);

/// The same of a URL that resolve_url() gave: a view of it, or of `buffer` where something had to be changed.
std::string_view page_url_of_resolved(std::string_view url, std::string& buffer);

/// Segments of a URL's path that are not empty: 2 for http://a.example/b//c/?d. 0 for a text without a host.
std::size_t url_path_depth(std::string_view url);

/// A key whose byte order is URL order: host labels from the last to the first ("org.example.www"), port, path and
/// query, and at the very end what is left (scheme, case of the host), so that two URLs share a key only if they are
/// the same. Pages of one host and port come in the byte order of their paths.
std::string url_order_key(std::string_view url);

}  // namespace quern
