#pragma once
#include <string>
#include <string_view>

/// Crawl records in Common Crawl's form.
namespace quern::testing {

/// A record with a matching length.
inline std::string crawl_record(std::string_view type, std::string_view id, std::string_view header,
                                std::string_view block) {
  return "WARC/1.0\r\nWARC-Type: " + std::string(type) + "\r\nWARC-Record-ID: <urn:uuid:" + std::string(id) + ">\r\n" +
         std::string(header) + "Content-Length: " + std::to_string(block.size()) + "\r\n\r\n" + std::string(block) +
         "\r\n\r\n";
}

inline std::string header_line(std::string_view name, std::string_view value) {
  return value.empty() ? "" : std::string(name) + ": " + std::string(value) + "\r\n";
}

/// A page of a WARC file.
inline std::string crawled_page(std::string_view id, std::string_view text, std::string_view digest = {},
                                std::string_view languages = {}, std::string_view status = "200 OK") {
  return crawl_record("response", id,
                      header_line("WARC-Target-URI", "http://mill.example/" + std::string(id)) +
                          "Content-Type: application/http; msgtype=response\r\n" +
                          header_line("WARC-Payload-Digest", digest) +
                          header_line("WARC-Identified-Content-Language", languages),
                      "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: text/html\r\n\r\n<p>" + std::string(text));
}

/// A page's metadata with its languages.
inline std::string crawled_metadata(std::string_view page_id, std::string_view language) {
  return crawl_record(
      "metadata", "m-" + std::string(page_id),
      "WARC-Concurrent-To: <urn:uuid:" + std::string(page_id) + ">\r\nContent-Type: application/warc-fields\r\n",
      "fetchTimeMs: 273\r\ncharset-detected: UTF-8\r\nlanguages-cld2: "
      "{\"reliable\":true,\"text-bytes\":5217,\"languages\":[{\"code\":\"xx\",\"code-iso-639-3\":\"" +
          std::string(language) +
          "\",\"text-covered\":0.98,\"score\":1978.0,\"name\":\"X\"},{\"code\":\"en\","
          "\"code-iso-639-3\":\"eng\",\"text-covered\":0.01,\"score\":9.0,\"name\":\"ENGLISH\"}]}\r\n");
}

/// A text of a WET file.
inline std::string crawled_text(std::string_view id, std::string_view text, std::string_view digest = {},
                                std::string_view languages = {}) {
  return crawl_record("conversion", id,
                      header_line("WARC-Target-URI", "http://mill.example/" + std::string(id)) +
                          header_line("WARC-Block-Digest", digest) +
                          header_line("WARC-Identified-Content-Language", languages) + "Content-Type: text/plain\r\n",
                      text);
}

}  // namespace quern::testing
