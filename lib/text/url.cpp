#include "quern/text/url.hpp"

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

/// A URL reference split by RFC 3986, appendix B; the parts are views without their delimiters.
struct UrlParts {
  std::optional<std::string_view> scheme, authority, query, fragment;
  std::string_view path;
};

std::optional<std::string_view> scheme_of(std::string_view url) {
  const auto colon = url.find_first_of(":/?#");
  if (colon == std::string_view::npos || url[colon] != ':' || colon == 0 || !is_ascii_letter(url[0])) return {};
  const std::string_view scheme = url.substr(0, colon);
  const auto allowed = [](char c) {
    return is_ascii_letter(c) || is_ascii_digit(c) || c == '+' || c == '-' || c == '.';
  };
  if (!std::all_of(scheme.begin(), scheme.end(), allowed)) return {};
  return scheme;
}

UrlParts split(std::string_view url) {
  UrlParts parts;
  if (parts.scheme = scheme_of(url); parts.scheme) url.remove_prefix(parts.scheme->size() + 1);
  if (const auto hash = url.find('#'); hash != std::string_view::npos) {
    parts.fragment = url.substr(hash + 1);
    url = url.substr(0, hash);
  }
  if (const auto mark = url.find('?'); mark != std::string_view::npos) {
    parts.query = url.substr(mark + 1);
    url = url.substr(0, mark);
  }
  if (url.substr(0, 2) == "//") {
    url.remove_prefix(2);
    parts.authority = url.substr(0, url.find('/'));
    url.remove_prefix(parts.authority->size());
  }
  parts.path = url;
  return parts;
}

/// An authority's parts: the user including its @, the host, and the port after the colon.
struct Authority {
  std::string_view user, host, port;
};

Authority split_authority(std::string_view authority) {
  Authority parts;
  if (const auto at = authority.rfind('@'); at != std::string_view::npos) {
    parts.user = authority.substr(0, at + 1);
    authority.remove_prefix(at + 1);
  }
  const auto colon = authority.rfind(':');
  const auto bracket = authority.rfind(']');
  const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  parts.host = authority.substr(0, has_port ? colon : authority.size());
  if (has_port) parts.port = authority.substr(colon + 1);
  return parts;
}

struct SchemePort {
  std::string_view scheme, port;
};
/// Schemes of pages, with their default ports.
constexpr std::array<SchemePort, 3> page_schemes = {{{"http", "80"}, {"https", "443"}, {"ftp", "21"}}};

const SchemePort* page_scheme(std::string_view lower_scheme) {
  const auto* found = std::find_if(page_schemes.begin(), page_schemes.end(),
                                   [&](const SchemePort& known) { return known.scheme == lower_scheme; });
  return found == page_schemes.end() ? nullptr : found;
}

/// Appends `path` without its dot segments (RFC 3986, section 5.2.4), in linear time. ".." removes segments from
/// url[path_begin..]. `ends` if `path` is the end of the URL's path.
void append_without_dot_segments(std::string_view path, std::size_t path_begin, bool ends, std::string& url) {
  if (path.find("/.") == std::string_view::npos) {
    url += path;
    return;
  }
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view segment = path.substr(at, end - at);
    const bool last = ends && end == path.size();
    if (segment == "/..") {
      const auto slash = std::string_view(url).substr(path_begin).rfind('/');
      url.resize(path_begin + (slash == std::string_view::npos ? 0 : slash));
      if (last) url += '/';
    } else if (segment == "/.") {
      if (last) url += '/';
    } else {
      url += segment;
    }
    at = end;
  }
}

/// False if the host is empty or contains a colon (outside an IPv6 address's brackets), or the port has other
/// characters than digits.
bool is_sound(const Authority& authority) {
  const bool bracketed = !authority.host.empty() && authority.host.back() == ']';
  return !authority.host.empty() && (bracketed || authority.host.find(':') == std::string_view::npos) &&
         std::all_of(authority.port.begin(), authority.port.end(), is_ascii_digit);
}

bool is_control_or_space(char c) { return static_cast<unsigned char>(c) <= ' '; }

/// A reference without surrounding white space and line breaks: a view of `href`, or of `cleaned` if something was
/// removed inside.
std::string_view clean(std::string_view href, std::string& cleaned) {
  while (!href.empty() && is_control_or_space(href.front())) href.remove_prefix(1);
  while (!href.empty() && is_control_or_space(href.back())) href.remove_suffix(1);
  if (std::none_of(href.begin(), href.end(), is_control_or_space)) return href;
  cleaned.clear();
  for (const char c : href)
    if (c == ' ')
      cleaned += "%20";
    else if (!is_control_or_space(c))
      cleaned += c;
  return cleaned;
}

/// Replaces `url` by the scheme and authority of a resolved URL; false if they can't belong to a page.
bool begin_url(const std::string& lower_scheme, std::string_view written_authority, std::string& url) {
  url.clear();
  const SchemePort* scheme = page_scheme(lower_scheme);
  const Authority authority = split_authority(written_authority);
  if (scheme == nullptr || !is_sound(authority)) return false;
  url.append(lower_scheme).append("://").append(authority.user);
  for (const char c : authority.host) url += ascii_lower(c);
  if (!authority.port.empty() && authority.port != scheme->port) url.append(":").append(authority.port);
  return true;
}

/// RFC 3986, section 2.3.
bool is_unreserved(char c) {
  return is_ascii_letter(c) || is_ascii_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

/// A % without two hexadecimal digits means itself and becomes %25.
std::string with_normal_percents(std::string_view url) {
  constexpr const char* upper_digits = "0123456789ABCDEF";
  std::string out;
  out.reserve(url.size());
  for (std::size_t i = 0; i < url.size(); ++i) {
    if (url[i] != '%') {
      out += url[i];
      continue;
    }
    const int high = i + 2 < url.size() ? hex_value(url[i + 1]) : -1;
    const int low = high < 0 ? -1 : hex_value(url[i + 2]);
    if (low >= 0) i += 2;
    const unsigned decoded = low < 0 ? '%' : static_cast<unsigned>(high * 16 + low);
    if (is_unreserved(static_cast<char>(decoded)))
      out += static_cast<char>(decoded);
    else
      out.append({'%', upper_digits[decoded / 16], upper_digits[decoded % 16]});
  }
  return out;
}

}  // namespace

void UrlResolver::set_base(std::string_view base) {
  is_base_too_long_ = base.size() > max_url_bytes;
  if (is_base_too_long_) return;
  const UrlParts parts = split(clean(base, cleaned_));
  scheme_ = ascii_lowered(parts.scheme.value_or(""));
  query_.clear();
  if (parts.query) query_.append("?").append(*parts.query);
  begin_url(scheme_, parts.authority.value_or(""), site_);
  folder_ = page_ = site_;
  if (site_.empty()) return;
  // A path after an authority is empty or begins with a slash.
  append_without_dot_segments(parts.path.substr(0, parts.path.rfind('/')), site_.size(), false, folder_);
  append_without_dot_segments(parts.path, site_.size(), true, page_);
  if (page_.size() == site_.size()) page_ += '/';
}

/// Each component comes from the reference or from the base, by RFC 3986, section 5.2.2. A reference with the base's
/// scheme but without a host ("http:page") is relative, as the RFC allows.
std::string_view UrlResolver::resolve(std::string_view href) {
  if (href.size() > max_url_bytes || is_base_too_long_) return {};
  const UrlParts reference = split(clean(href, cleaned_));
  std::string lower_scheme;
  if (reference.scheme) lower_scheme = ascii_lowered(*reference.scheme);
  const std::string& scheme = reference.scheme ? lower_scheme : scheme_;
  if (reference.authority) {
    if (!begin_url(scheme, *reference.authority, url_)) return {};
    const std::size_t path_begin = url_.size();
    append_without_dot_segments(reference.path, path_begin, true, url_);
    if (url_.size() == path_begin) url_ += '/';
  } else {
    if (scheme != scheme_ || site_.empty()) return {};
    set_path(reference.path);
  }
  if (reference.query)
    url_.append("?").append(*reference.query);
  else if (!reference.authority && reference.path.empty())
    url_ += query_;
  if (reference.fragment) url_.append("#").append(*reference.fragment);
  return url_.size() > max_url_bytes ? std::string_view() : url_;
}

/// Sets url_ to the base with this path (RFC 3986, section 5.2.3).
void UrlResolver::set_path(std::string_view reference_path) {
  if (reference_path.empty()) {
    url_ = page_;
  } else if (reference_path.front() == '/') {
    url_ = site_;
    append_without_dot_segments(reference_path, site_.size(), true, url_);
  } else {
    url_ = folder_;
    path_.assign("/").append(reference_path);
    append_without_dot_segments(path_, site_.size(), true, url_);
  }
  if (url_.size() == site_.size()) url_ += '/';
}

std::string resolve_url(std::string_view base, std::string_view href) {
  return std::string(UrlResolver(base).resolve(href));
}

std::string_view page_url_of_resolved(std::string_view url, std::string& buffer) {
  url = url.substr(0, url.find('#'));
  if (url.find('%') == std::string_view::npos) return url;
  buffer = with_normal_percents(url);
  // Decoding may have produced capitals in the host and dot segments in the path.
  if (std::string resolved = resolve_url(buffer, buffer); !resolved.empty()) buffer = std::move(resolved);
  return buffer;
}

std::string page_url(std::string_view url) {
  const std::string resolved = resolve_url(url, url);
  if (resolved.empty()) return std::string(url);
  std::string buffer;
  return std::string(page_url_of_resolved(resolved, buffer));
}

std::size_t url_path_depth(std::string_view url) {
  const UrlParts parts = split(url);
  if (!parts.authority) return 0;
  std::size_t depth = 0;
  char before = '/';
  for (const char at : parts.path) {
    if (at != '/' && before == '/') ++depth;
    before = at;
  }
  return depth;
}

std::string url_order_key(std::string_view url) {
  // Lower than any byte of a URL, so that a host sorts before its subdomains, and a path before its extensions.
  constexpr char end_of_part = '\0';
  const UrlParts parts = split(url);
  const Authority authority = split_authority(parts.authority.value_or(""));
  const SchemePort* scheme = page_scheme(ascii_lowered(parts.scheme.value_or("")));
  const std::size_t before_path = static_cast<std::size_t>(parts.path.data() - url.data());
  const std::string host = ascii_lowered(authority.host);
  std::string key;
  key.reserve(url.size() + before_path + 4);
  for (std::size_t end = host.size();;) {
    const std::size_t dot = end == 0 ? std::string::npos : host.rfind('.', end - 1);
    const std::size_t begin = dot == std::string::npos ? 0 : dot + 1;
    key.append(host, begin, end - begin);
    if (dot == std::string::npos) break;
    key += '.';
    end = dot;
  }
  key += end_of_part;
  if (scheme == nullptr || authority.port != scheme->port) key += authority.port;
  key += end_of_part;
  key += url.substr(before_path);
  key += end_of_part;
  key += url.substr(0, before_path);
  return key;
}

}  // namespace quern
