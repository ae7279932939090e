#include "quern/text/html.hpp"

#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "quern/core/error.hpp"
#include "quern/text/html_tags.hpp"
#include "quern/text/url.hpp"

namespace quern {
namespace {

/// libxml2 compares an end tag without a start with every open element, so a deep stack makes it quadratic. Past this
/// depth the outer half of the elements counts as closed.
constexpr int max_open_elements = 256;
/// Names that the parser's dictionary gathers over pages before it is made anew.
constexpr int max_dictionary_names = 4096;

bool is_white_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
bool is_separator(char c) { return is_white_space(c) || c == phrase_end; }

/// The text on one line: without separators around it, and one space for each run of them.
std::string collapsed(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (!is_separator(c)) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

/// The attribute href, which may be empty; nothing where there is none.
std::optional<std::string_view> href_of(const xmlChar** attributes) {
  for (; attributes != nullptr && attributes[0] != nullptr; attributes += 2) {
    if (std::strcmp(reinterpret_cast<const char*>(attributes[0]), "href") != 0) continue;
    return attributes[1] == nullptr ? std::string_view() : reinterpret_cast<const char*>(attributes[1]);
  }
  return {};
}

}  // namespace

/// One libxml2 parser, and what its events have told of the page so far.
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
  void start_context(std::string_view html);
  void close_outer_elements();

  void on_start(const char* name, const xmlChar** attributes);
  void on_end(const char* name);
  void on_text(const char* text, std::size_t size);

  void separate();
  void end_phrase();
  void start_title();
  void end_title();
  void start_link(const xmlChar** attributes);
  void end_link();
  bool add_link(const xmlChar** attributes);
  void set_base(const xmlChar** attributes);

  static Parser& of(void* user) { return *static_cast<Parser*>(user); }
  static xmlSAXHandler handler();

  htmlParserCtxtPtr context_ = nullptr;
  std::uint64_t dropped_links_ = 0;

  // What follows belongs to the page being read.
  DocumentText* out_ = nullptr;
  std::string* text_ = nullptr;  ///< where text goes: the body or the title
  std::string base_;
  bool has_base_ = false, has_title_ = false;
  /// Open elements whose text goes nowhere: hidden ones, and titles that aren't the page's.
  unsigned hidden_ = 0, passed_titles_ = 0, pictures_ = 0;
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
    of(user).on_start(reinterpret_cast<const char*>(name), attributes);
  };
  sax.endElement = [](void* user, const xmlChar* name) { of(user).on_end(reinterpret_cast<const char*>(name)); };
  sax.characters = [](void* user, const xmlChar* text, int size) {
    of(user).on_text(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  };
  sax.ignorableWhitespace = sax.characters;
  // Scripts and style sheets come here instead of to characters.
  sax.cdataBlock = [](void*, const xmlChar*, int) {};
  return sax;
}

void HtmlExtractor::Parser::free_context() {
  if (context_ != nullptr) htmlFreeParserCtxt(context_);
  context_ = nullptr;
}

/// Brings the parser to the start of a page and hands it the page, which it copies.
void HtmlExtractor::Parser::start_context(std::string_view html) {
  if (html.size() > INT_MAX) throw InvalidArgument("a page of 2 GiB or more can't be read: use a lower --max-document");
  if (context_ != nullptr && xmlDictSize(context_->dict) > max_dictionary_names) free_context();
  if (context_ == nullptr) {
    xmlSAXHandler sax = handler();
    context_ = htmlCreatePushParserCtxt(&sax, this, nullptr, 0, nullptr, XML_CHAR_ENCODING_UTF8);
    if (context_ == nullptr) throw Error("libxml2 ran out of memory");
  }
  if (xmlCtxtResetPush(context_, html.data(), static_cast<int>(html.size()), nullptr, nullptr) != 0) {
    throw Error("libxml2 can't start on a page of " + std::to_string(html.size()) + " bytes");
  }
  // A reset leaves behind an XML parser of unknown encoding.
  context_->html = 1;
  xmlSwitchEncoding(context_, XML_CHAR_ENCODING_UTF8);
  htmlCtxtUseOptions(context_, HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET |
                                   HTML_PARSE_IGNORE_ENC | HTML_PARSE_NOIMPLIED);
  context_->options |= XML_PARSE_HUGE;
}

void HtmlExtractor::Parser::extract(std::string_view html, std::string_view url, DocumentText& out) {
  out.title.clear();
  out.body.clear();
  out.links.clear();
  out_ = &out;
  text_ = &out.body;
  base_ = url;
  has_base_ = has_title_ = in_link_ = false;
  hidden_ = passed_titles_ = pictures_ = 0;
  link_bytes_ = 0;
  if (html.empty()) return;
  start_context(html);
  // All in one go: given a page in pieces, libxml2 looks for the end of a long tag again with each piece.
  htmlParseChunk(context_, nullptr, 0, 1);
  end_link();
  out.title = collapsed(out.title);
  while (!out.body.empty() && is_separator(out.body.back())) out.body.pop_back();
}

void HtmlExtractor::Parser::close_outer_elements() {
  constexpr int closed = max_open_elements / 2;
  for (int i = 0; i < closed; ++i) on_end(reinterpret_cast<const char*>(context_->nameTab[i]));
  std::copy(context_->nameTab + closed, context_->nameTab + context_->nameNr, context_->nameTab);
  context_->nameNr -= closed;
}

void HtmlExtractor::Parser::on_start(const char* name, const xmlChar** attributes) {
  if (context_->nameNr > max_open_elements) close_outer_elements();
  const TagKind kind = tag_kind(name);
  if (kind == TagKind::block) {
    end_phrase();
    // A title has no such elements: its end tag is missing.
    if (text_ == &out_->title) end_title();
    return;
  }
  separate();
  if (kind == TagKind::inline_text) return;
  if (kind == TagKind::hidden) ++hidden_;
  if (kind == TagKind::picture) ++pictures_;
  if (kind == TagKind::title) start_title();
  if (hidden_ > 0) return;
  if (kind == TagKind::link) start_link(attributes);
  if (kind == TagKind::area) add_link(attributes);
  if (kind == TagKind::base) set_base(attributes);
}

void HtmlExtractor::Parser::on_end(const char* name) {
  const TagKind kind = tag_kind(name);
  if (kind == TagKind::block) {
    end_phrase();
    return;
  }
  separate();
  if (kind == TagKind::link) end_link();
  if (kind == TagKind::title) end_title();
  if (kind == TagKind::hidden && hidden_ > 0) --hidden_;
  if (kind == TagKind::picture && pictures_ > 0) --pictures_;
}

void HtmlExtractor::Parser::on_text(const char* text, std::size_t size) {
  if (hidden_ > 0) return;
  if (text_->empty() || is_separator(text_->back())) {
    while (size > 0 && is_white_space(*text)) ++text, --size;
  }
  text_->append(text, size);
}

void HtmlExtractor::Parser::separate() {
  if (!text_->empty() && !is_separator(text_->back())) text_->push_back(' ');
}

void HtmlExtractor::Parser::end_phrase() {
  while (!text_->empty() && is_white_space(text_->back())) text_->pop_back();
  if (!text_->empty() && text_->back() != phrase_end) text_->push_back(phrase_end);
}

void HtmlExtractor::Parser::start_title() {
  if (has_title_ || hidden_ > 0 || pictures_ > 0) {
    ++passed_titles_;
    ++hidden_;
    return;
  }
  has_title_ = true;
  text_ = &out_->title;
}

void HtmlExtractor::Parser::end_title() {
  if (passed_titles_ > 0) {
    --passed_titles_;
    --hidden_;
  } else {
    text_ = &out_->body;
  }
}

void HtmlExtractor::Parser::start_link(const xmlChar** attributes) {
  end_link();
  if (!add_link(attributes)) return;
  in_link_ = true;
  link_ = out_->links.size() - 1;
  link_begin_ = out_->body.size();
}

void HtmlExtractor::Parser::end_link() {
  if (!in_link_) return;
  in_link_ = false;
  // Ending a phrase may have dropped the blank that the link's text would have followed.
  const std::size_t begin = std::min(link_begin_, out_->body.size());
  out_->links[link_].anchor = collapsed(std::string_view(out_->body).substr(begin));
}

bool HtmlExtractor::Parser::add_link(const xmlChar** attributes) {
  const auto href = href_of(attributes);
  if (!href) return false;
  std::string url = resolve_url(base_, *href);
  if (url.empty()) return false;
  if (out_->links.size() >= max_links || link_bytes_ + url.size() > max_link_bytes) {
    ++dropped_links_;
    return false;
  }
  link_bytes_ += url.size();
  out_->links.push_back({std::move(url), {}});
  return true;
}

void HtmlExtractor::Parser::set_base(const xmlChar** attributes) {
  const auto href = href_of(attributes);
  if (!href || has_base_) return;
  has_base_ = true;
  if (std::string resolved = resolve_url(base_, *href); !resolved.empty()) base_ = std::move(resolved);
}

HtmlExtractor::HtmlExtractor() : parser_(std::make_unique<Parser>()) {}
HtmlExtractor::~HtmlExtractor() = default;

void HtmlExtractor::extract(std::string_view html, std::string_view url, DocumentText& out) {
  parser_->extract(html, url, out);
}

std::uint64_t HtmlExtractor::dropped_links() const { return parser_->dropped_links(); }

}  // namespace quern
