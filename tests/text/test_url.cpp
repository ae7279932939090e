#include <algorithm>
#include <string>
#include <vector>

#include "quern/text/url.hpp"

#include "catch.hpp"

using namespace quern;

TEST_CASE("A resolver keeps no state between references", "[text]") {
  const char* bases[] = {"http://a/b/c/d;p?q", "",           "http://a", "https://u@A.b:443/x/../y?z#f",
                         "ftp://a:2121/./",    "mailto:x@y", "//a/b",    "a/b"};
  const char* references[] = {"g",  "../g?y#s", "#s",       "",         "//G:80/x", "https://h/../i",
                              "/r", "http:g",   "mailto:x", "\n a b\t", "..",       "?y"};
  for (const char* base : bases) {
    UrlResolver resolver("http://other/");
    resolver.set_base(base);
    for (int round = 0; round < 2; ++round) {
      for (const char* reference : references) {
        INFO(base << " and " << reference);
        CHECK(resolver.resolve(reference) == resolve_url(base, reference));
      }
    }
  }
  UrlResolver resolver(std::string(max_url_bytes + 1, 'x'));
  CHECK(resolver.resolve("http://a/").empty());
}

TEST_CASE("References resolve as in section 5.4 of RFC 3986", "[text]") {
  struct Example {
    const char *reference, *target;
  };
  const Example examples[] = {{"g", "http://a/b/c/g"},
                              {"./g", "http://a/b/c/g"},
                              {"g/", "http://a/b/c/g/"},
                              {"/g", "http://a/g"},
                              {"//g", "http://g/"},
                              {"?y", "http://a/b/c/d;p?y"},
                              {"g?y", "http://a/b/c/g?y"},
                              {"#s", "http://a/b/c/d;p?q#s"},
                              {"g#s", "http://a/b/c/g#s"},
                              {"g?y#s", "http://a/b/c/g?y#s"},
                              {";x", "http://a/b/c/;x"},
                              {"g;x", "http://a/b/c/g;x"},
                              {"g;x?y#s", "http://a/b/c/g;x?y#s"},
                              {"", "http://a/b/c/d;p?q"},
                              {".", "http://a/b/c/"},
                              {"./", "http://a/b/c/"},
                              {"..", "http://a/b/"},
                              {"../", "http://a/b/"},
                              {"../g", "http://a/b/g"},
                              {"../..", "http://a/"},
                              {"../../", "http://a/"},
                              {"../../g", "http://a/g"},
                              {"../../../g", "http://a/g"},
                              {"../../../../g", "http://a/g"},
                              {"/./g", "http://a/g"},
                              {"/../g", "http://a/g"},
                              {"g.", "http://a/b/c/g."},
                              {".g", "http://a/b/c/.g"},
                              {"g..", "http://a/b/c/g.."},
                              {"..g", "http://a/b/c/..g"},
                              {"./../g", "http://a/b/g"},
                              {"./g/.", "http://a/b/c/g/"},
                              {"g/./h", "http://a/b/c/g/h"},
                              {"g/../h", "http://a/b/c/h"},
                              {"g;x=1/./y", "http://a/b/c/g;x=1/y"},
                              {"g;x=1/../y", "http://a/b/c/y"},
                              {"g?y/./x", "http://a/b/c/g?y/./x"},
                              {"g?y/../x", "http://a/b/c/g?y/../x"},
                              {"g#s/../x", "http://a/b/c/g#s/../x"},
                              {"http:g", "http://a/b/c/g"}};
  for (const Example& example : examples) {
    INFO(example.reference);
    CHECK(resolve_url("http://a/b/c/d;p?q", example.reference) == example.target);
  }
}

TEST_CASE("Scheme, host and port are normalised, the rest stays as written", "[text]") {
  CHECK(resolve_url("", "HTTP://WWW.Example.ORG:80/A%7eb/?Q#F") == "http://www.example.org/A%7eb/?Q#F");
  CHECK(resolve_url("", "https://example.org:443") == "https://example.org/");
  CHECK(resolve_url("", "http://example.org:8080/x") == "http://example.org:8080/x");
  CHECK(resolve_url("", "http://example.org:/x") == "http://example.org/x");
  CHECK(resolve_url("", "http://User@Example.org?x") == "http://User@example.org/?x");
  CHECK(resolve_url("", "http://[2001:DB8::1]:80/") == "http://[2001:db8::1]/");
  CHECK(resolve_url("https://a.org/x", "//B.org") == "https://b.org/");
  CHECK(resolve_url("http://example.org", "page") == "http://example.org/page");
}

TEST_CASE("White space around and line breaks within a reference are ignored", "[text]") {
  CHECK(resolve_url("http://a/b", " \n c/\td\r\n e ") == "http://a/c/d%20e");
  CHECK(resolve_url(" http://a/b \n", "c") == "http://a/c");
  CHECK(resolve_url("http://a b/c d", "?e") == "http://a%20b/c%20d?e");
}

TEST_CASE("URLs that are not pages resolve to nothing", "[text]") {
  for (const char* href :
       {"javascript:void(0)", "mailto:a@b.org", "data:text/html,x", "tel:1", "http://", "http:///x",
        "file:///etc/passwd", "about:blank", "https:relative", "javascript://a/b", "http://a::/", "http://a:b/"}) {
    INFO(href);
    CHECK(resolve_url("http://a/b", href).empty());
  }
  CHECK(resolve_url("", "page").empty());
  CHECK(resolve_url("not a url", "page").empty());
  CHECK(resolve_url("a/b", "../c").empty());
  CHECK(resolve_url("mailto:a@b.org", "#x").empty());
}

TEST_CASE("URLs beyond the limit are dropped", "[text]") {
  const std::string host = "http://a/";
  CHECK(resolve_url("", host + std::string(max_url_bytes - host.size(), 'x')).size() == max_url_bytes);
  CHECK(resolve_url("", host + std::string(max_url_bytes - host.size() + 1, 'x')).empty());
  CHECK(resolve_url("http://a/", std::string(max_url_bytes, 'x')).empty());
  CHECK(resolve_url(host + std::string(1 << 20, 'x'), "http://b/").empty());
}

TEST_CASE("URL keys sort by reversed host, then by port, then by path", "[text]") {
  const std::vector<std::string> sorted = {
      "http://example.com/",        "https://example.com/",       "http://example.com:8080/",
      "http://www.example.com/a",   "http://www.example.com/a/b", "http://www.example.com/a0",
      "http://www.example.com/b?c", "http://www.example.com/b?d", "http://example.org",
      "http://Example.org/",        "http://example.org/",        "http://a.example.org/z",
      "http://b.example.org/a",     "http://a.b.example.org/",    "http://example.org.uk/"};
  std::vector<std::string> keys;
  for (const std::string& url : sorted) keys.push_back(url_order_key(url));
  for (std::size_t i = 1; i < keys.size(); ++i) {
    INFO(sorted[i - 1] << " before " << sorted[i]);
    CHECK(keys[i - 1] < keys[i]);
  }
  CHECK(url_order_key("http://www.example.org/x").substr(0, 15) == "org.example.www");
}

TEST_CASE("Pages of one host sort by the bytes of their URLs", "[text][property]") {
  const std::string paths[] = {"",     "/",  "/a",  "/a/",  "/a/b", "/a-b",      "/a.b", "/a?b",   "/a?",
                               "/a#b", "/B", "/~u", "/%7E", "/a b", "/\xC3\xA9", "?q",   "/a/b/c", "/aa"};
  std::vector<std::string> by_url, by_key;
  for (const std::string& path : paths) by_url.push_back("http://h.example.org" + path);
  by_key = by_url;
  std::sort(by_url.begin(), by_url.end());
  std::sort(by_key.begin(), by_key.end(),
            [](const auto& a, const auto& b) { return url_order_key(a) < url_order_key(b); });
  CHECK(by_key == by_url);
}

TEST_CASE("Different URLs have different keys", "[text]") {
  const std::vector<std::string> urls = {
      "http://a/", "https://a/", "http://A/", "http://a:80/", "http://a:81/", "http://u@a/", "http://a",
      "a",         "/",          "",          "//a/",         "http:/a",      "http:a"};
  std::vector<std::string> keys;
  for (const std::string& url : urls) keys.push_back(url_order_key(url));
  std::sort(keys.begin(), keys.end());
  CHECK(std::adjacent_find(keys.begin(), keys.end()) == keys.end());
}

TEST_CASE("URLs of one page have one canonical form", "[text]") {
  CHECK(page_url("HTTP://H.example:80/a/../%7eb%2f%c3%A9?%3d#part") == "http://h.example/~b%2F%C3%A9?%3D");
  CHECK(page_url("http://%48.example") == "http://h.example/");
  CHECK(page_url("http://h.example/a/%2E%2e/b") == "http://h.example/b");
  CHECK(page_url("http://h.example/100%") == page_url("http://h.example/100%25"));
  CHECK(page_url("http://h.example/%%341") == "http://h.example/%2541");
  CHECK(page_url("http://h.example/%4") == "http://h.example/%254");
  CHECK(page_url("http://h.example/A") != page_url("http://h.example/a"));
  CHECK(page_url("http://h.example/a?") != page_url("http://h.example/a"));
  // Texts that are not a page's URL stay unchanged.
  CHECK(page_url("M-%41#1") == "M-%41#1");
  CHECK(page_url("").empty());
  std::string buffer;
  CHECK(page_url_of_resolved("http://h.example/a#b", buffer) == "http://h.example/a");
  CHECK(page_url_of_resolved("http://h.example/%61#b", buffer) == "http://h.example/a");
}
