#include "quern/text/html.hpp"

#include <fmt/format.h>
#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <string>

#include "quern/core/error.hpp"
#include "quern/text/html_filter.hpp"
#include "quern/text/url.hpp"

namespace quern {
namespace {

/// Names that the parser's dictionary gathers over pages before it is made anew.
constexpr int max_dictionary_names = 4096;

/// Memory that is kept from one page to the next; more is freed.
constexpr std::size_t kept_bytes = std::size_t{1} << 20;

bool is_white_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
bool is_separator(char c) { return is_white_space(c) || c == phrase_end; }

/// The text on one line: without separators around it, and one space for each run of them.
std::string collapsed(std::string_view text) {
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && !is_separator(text[end])) ++end;
    if (end > at && !line.empty()) line += ' ';
    line.append(text, at, end - at);
    at = end + 1;
  }
  return line;
}

std::string_view text_of(const xmlChar* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

/// The attribute href, the only one that filtered pages have.
std::string_view href_of(const xmlChar** attributes) {
  return text_of(attributes == nullptr ? nullptr : attributes[1]);
}

}  // namespace

/// One libxml2 parser, and the state of the page after its events so far.
class HtmlExtractor::Parser {
 public:
  Parser();
  ~Parser() { free_context(); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  void extract(std::string_view html, std::string_view url, DocumentText& out);
  std::uint64_t dropped_links() const { return dropped_links_; }

 private:
  void free_context();
  void start_context();

  void on_start(std::string_view name, const xmlChar** attributes);
  void on_end(std::string_view name);
  void on_text(std::string_view text);

  void end_phrase();
  void start_link(const xmlChar** attributes);
  void end_link();
  bool add_link(const xmlChar** attributes);
  void set_base(const xmlChar** attributes);

  static Parser& of(void* user) { return *static_cast<Parser*>(user); }
  static xmlSAXHandler handler();

  htmlParserCtxtPtr context_ = nullptr;
  std::string filtered_;
  std::uint64_t dropped_links_ = 0;

  // What follows belongs to the page being read.
  std::string title_, body_;
  std::vector<Link> links_;
  std::string* text_ = nullptr;  ///< where text goes: the body or the title
  std::string base_;
  bool has_base_ = false;
  bool in_link_ = false;
  std::size_t link_ = 0, link_begin_ = 0;  ///< the open link's number, and where in the body its text begins
  std::size_t link_bytes_ = 0;
};

HtmlExtractor::Parser::Parser() {
  static std::once_flag once;
  std::call_once(once, xmlInitParser);
}

xmlSAXHandler HtmlExtractor::Parser::handler() {
  xmlSAXHandler sax{};
  sax.startElement = [](void* user, const xmlChar* name, const xmlChar** attributes) {
    of(user).on_start(text_of(name), attributes);
  };
  sax.endElement = [](void* user, const xmlChar* name) { of(user).on_end(reinterpret_cast<const char*>(name)); };
  sax.characters = [](void* user, const xmlChar* text, int size) {
    of(user).on_text({reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)});
  };
  sax.ignorableWhitespace = sax.characters;
  return sax;
}

void HtmlExtractor::Parser::free_context() {
  if (context_ != nullptr) htmlFreeParserCtxt(context_);
  context_ = nullptr;
}

/// Brings the parser to the start of a page and hands it the filtered page, which it copies.
void HtmlExtractor::Parser::start_context() {
  if (filtered_.size() > INT_MAX) throw InvalidArgument("a page is too long for libxml2: use a lower --max-document");
  if (context_ != nullptr && xmlDictSize(context_->dict) > max_dictionary_names) free_context();
  if (context_ == nullptr) {
    xmlSAXHandler sax = handler();
    context_ = htmlCreatePushParserCtxt(&sax, this, nullptr, 0, nullptr, XML_CHAR_ENCODING_UTF8);
    if (context_ == nullptr) throw Error("libxml2 ran out of memory");
  }
  if (xmlCtxtResetPush(context_, filtered_.data(), static_cast<int>(filtered_.size()), nullptr, nullptr) != 0) {
    throw Error("libxml2 can't start on a page of " + std::to_string(filtered_.size()) + " bytes");
  }
  // A reset leaves an XML parser of unknown encoding.
  context_->html = 1;
  xmlSwitchEncoding(context_, XML_CHAR_ENCODING_UTF8);
  htmlCtxtUseOptions(context_, HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET |
                                   HTML_PARSE_IGNORE_ENC | HTML_PARSE_NOIMPLIED);
  context_->options |= XML_PARSE_HUGE;
}

void HtmlExtractor::Parser::extract(std::string_view html, std::string_view url, DocumentText& out) {
  title_.clear();
  body_.clear();
  links_.clear();
  text_ = &body_;
  base_ = url;
  has_base_ = in_link_ = false;
  link_bytes_ = 0;
  filter_html(html, filtered_);
  start_context();
  // All in one go: given a page in pieces, libxml2 looks for the end of a long tag again with each piece.
  htmlParseChunk(context_, nullptr, 0, 1);
  if (filtered_.size() > kept_bytes) {
    free_context();
    std::string().swap(filtered_);
  }
  end_link();
  while (!body_.empty() && is_separator(body_.back())) body_.pop_back();
  out.title.clear();
  out.title.append(collapsed(title_));
  out.body.clear();
  out.body.append(body_);
  out.links.clear();
  for (const Link& link : links_) out.links.append(link.url, link.anchor);
}

void HtmlExtractor::Parser::on_start(std::string_view name, const xmlChar** attributes) {
  if (name == "br") end_phrase();
  if (name == "a") start_link(attributes);
  if (name == "area") add_link(attributes);
  if (name == "base") set_base(attributes);
  if (name == "title") text_ = &title_;
}

void HtmlExtractor::Parser::on_end(std::string_view name) {
  if (name == "a") end_link();
  if (name == "title") text_ = &body_;
}

void HtmlExtractor::Parser::on_text(std::string_view text) { text_->append(text); }

void HtmlExtractor::Parser::end_phrase() {
  while (!body_.empty() && is_white_space(body_.back())) body_.pop_back();
  // The blanks that are gone may have stood before the open link's text.
  link_begin_ = std::min(link_begin_, body_.size());
  if (!body_.empty() && body_.back() != phrase_end) body_.push_back(phrase_end);
}

void HtmlExtractor::Parser::start_link(const xmlChar** attributes) {
  if (!add_link(attributes)) return;
  in_link_ = true;
  link_ = links_.size() - 1;
  link_begin_ = body_.size();
}

void HtmlExtractor::Parser::end_link() {
  if (!in_link_) return;
  in_link_ = false;
  links_[link_].anchor = collapsed(std::string_view(body_).substr(link_begin_));
}

bool HtmlExtractor::Parser::add_link(const xmlChar** attributes) {
  std::string url = resolve_url(base_, href_of(attributes));
  if (url.empty()) return false;
  if (links_.size() >= max_links || link_bytes_ + url.size() > max_link_bytes) {
    ++dropped_links_;
    return false;
  }
  link_bytes_ += url.size();
  links_.push_back({std::move(url), {}});
  return true;
}

void HtmlExtractor::Parser::set_base(const xmlChar** attributes) {
  if (has_base_) return;
  has_base_ = true;
  if (std::string resolved = resolve_url(base_, href_of(attributes)); !resolved.empty()) base_ = std::move(resolved);
}

HtmlExtractor::HtmlExtractor() : parser_(std::make_unique<Parser>()) {}
HtmlExtractor::~HtmlExtractor() = default;

void HtmlExtractor::extract(std::string_view html, std::string_view url, DocumentText& out) {
  parser_->extract(html, url, out);
}

std::uint64_t HtmlExtractor::dropped_links() const { return parser_->dropped_links(); }

std::string html_parser_version() {
  const int number = std::atoi(xmlParserVersion);  // 20914, and perhaps a text
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace quern
