#include "quern/text/html.hpp"

#include <fmt/format.h>
#include <libxml/HTMLparser.h>
#include <libxml/parserInternals.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/text/html_filter.hpp"
#include "quern/text/url.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// Names that the parser's dictionary gathers over pages before it is made anew.
constexpr int max_dictionary_names = 4096;

/// Memory that is kept from one page to the next; more is freed.
constexpr std::size_t kept_bytes = std::size_t{1} << 20;

/// More white space in a row than this is shortened.
constexpr std::size_t max_white_space = std::size_t{1} << 20;

/// Markup without effect. libxml2 waits for the markup after a text before it hands the text out.
constexpr std::string_view no_effect = "<!-- -->";

bool is_white_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
bool is_separator(char c) { return is_white_space(c) || c == phrase_end; }

/// A text brought to one line as it comes: without separators around it, and one space for each run of them.
class LineText {
 public:
  explicit LineText(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  void clear() {
    line_.clear();
    if (line_.capacity() > kept_bytes) line_.shrink_to_fit();
    is_separated_ = false;
  }
  void append(std::string_view text) {
    for (std::size_t at = 0; at < text.size() && line_.size() <= max_bytes_;) {
      std::size_t end = at;
      while (end < text.size() && !is_separator(text[end])) ++end;
      if (end > at) {
        if (is_separated_ && !line_.empty()) line_ += ' ';
        line_.append(text, at, end - at);
        is_separated_ = false;
      }
      if (end < text.size()) is_separated_ = true;
      at = end + 1;
    }
  }
  void separate() { is_separated_ = true; }
  std::string_view line() const { return cut_at_character(line_, max_bytes_); }

 private:
  std::size_t max_bytes_;
  std::string line_;
  bool is_separated_ = false;
};

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
  explicit Parser(std::size_t part_bytes);
  ~Parser() { free_context(); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  void extract(PieceSource& html, std::string_view url, DocumentText& out);
  std::uint64_t dropped_links() const { return dropped_links_; }

 private:
  void start_page(std::string_view url, DocumentText& out);
  void parse_page(PieceSource& html);
  void end_page();

  void free_context();
  void start_context();
  void parse(std::string_view part, bool ends);

  template <class Act>
  void guard(Act&& act);
  void on_start(std::string_view name, const xmlChar** attributes);
  void on_end(std::string_view name);
  void on_text(std::string_view text);

  void end_phrase();
  void move_body();
  void start_link(const xmlChar** attributes);
  void end_link();
  bool add_link(const xmlChar** attributes);
  void set_base(const xmlChar** attributes);

  static Parser& of(void* user) { return *static_cast<Parser*>(user); }
  static xmlSAXHandler handler();

  std::size_t part_bytes_;
  htmlParserCtxtPtr context_ = nullptr;
  std::uint64_t dropped_links_ = 0;

  // What follows belongs to the page being read.
  HtmlFilter filter_;
  std::string filtered_;            ///< what libxml2 has not got yet
  std::size_t filtered_bytes_ = 0;  ///< what it has
  std::exception_ptr problem_;      ///< thrown in one of its callbacks
  DocumentText* out_ = nullptr;
  bool in_title_ = false;
  LineText title_{std::string::npos};
  std::string body_;             ///< the body's end, with all white space that may have to go
  std::size_t enough_body_ = 0;  ///< when more of it is there, what is sound moves on
  std::string base_;
  bool has_base_ = false;
  bool in_link_ = false;
  std::uint64_t link_ = 0;             ///< the open link's number
  LineText anchor_{max_anchor_bytes};  ///< its text
  std::size_t link_bytes_ = 0, anchor_bytes_ = 0;
};

HtmlExtractor::Parser::Parser(std::size_t part_bytes) : part_bytes_(part_bytes) {
  static std::once_flag once;
  std::call_once(once, xmlInitParser);
}

xmlSAXHandler HtmlExtractor::Parser::handler() {
  xmlSAXHandler sax{};
  sax.startElement = [](void* user, const xmlChar* name, const xmlChar** attributes) {
    of(user).guard([&] { of(user).on_start(text_of(name), attributes); });
  };
  sax.endElement = [](void* user, const xmlChar* name) {
    of(user).guard([&] { of(user).on_end(reinterpret_cast<const char*>(name)); });
  };
  sax.characters = [](void* user, const xmlChar* text, int size) {
    of(user).guard([&] { of(user).on_text({reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)}); });
  };
  sax.ignorableWhitespace = sax.characters;
  return sax;
}

void HtmlExtractor::Parser::free_context() {
  if (context_ != nullptr) htmlFreeParserCtxt(context_);
  context_ = nullptr;
}

/// Does what an event of libxml2 asks for. C code must not see exceptions: parse() throws them on.
template <class Act>
void HtmlExtractor::Parser::guard(Act&& act) {
  if (problem_) return;
  try {
    act();
  } catch (...) {
    problem_ = std::current_exception();
  }
}

/// Brings the parser to the start of a page and hands it the first part of the filtered page, which it copies.
void HtmlExtractor::Parser::start_context() {
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

void HtmlExtractor::Parser::parse(std::string_view part, bool ends) {
  htmlParseChunk(context_, part.data(), static_cast<int>(part.size()), ends ? 1 : 0);
  if (problem_) std::rethrow_exception(std::exchange(problem_, {}));
}

void HtmlExtractor::Parser::extract(PieceSource& html, std::string_view url, DocumentText& out) {
  start_page(url, out);
  try {
    parse_page(html);
  } catch (...) {
    free_context();
    throw;
  }
  end_page();
}

void HtmlExtractor::Parser::start_page(std::string_view url, DocumentText& out) {
  out.title.clear();
  out.body.clear();
  out.links.clear();
  out_ = &out;
  filter_.clear();
  filtered_.clear();
  filtered_bytes_ = 0;
  title_.clear();
  body_.clear();
  enough_body_ = default_piece_bytes;
  base_ = url;
  in_title_ = has_base_ = in_link_ = false;
  link_bytes_ = anchor_bytes_ = 0;
}

/// Hands the filtered page to libxml2 part by part. Parts end outside of tags and references, so that it reads each
/// at once and has nothing to look for the end of again.
void HtmlExtractor::Parser::parse_page(PieceSource& html) {
  const auto parse_filtered = [&](bool ends) {
    if (!ends) filtered_ += no_effect;
    const bool starts = filtered_bytes_ == 0;
    if (starts) start_context();
    filtered_bytes_ += filtered_.size();
    parse(starts ? std::string_view() : filtered_, ends);
    filtered_.clear();
  };
  for (std::string_view piece = html.next(); !piece.empty(); piece = html.next()) {
    if (filtered_.size() >= part_bytes_) parse_filtered(false);
    filter_.append(piece, filtered_);
  }
  filter_.finish(filtered_);
  parse_filtered(true);
}

void HtmlExtractor::Parser::end_page() {
  end_link();
  while (!body_.empty() && is_separator(body_.back())) body_.pop_back();
  out_->body.append(body_);
  out_->title.append(title_.line());
  if (filtered_bytes_ > kept_bytes) {
    free_context();
    for (std::string* text : {&filtered_, &body_}) std::string().swap(*text);
  }
}

void HtmlExtractor::Parser::on_start(std::string_view name, const xmlChar** attributes) {
  if (name == "br") end_phrase();
  if (name == "a") start_link(attributes);
  if (name == "area") add_link(attributes);
  if (name == "base") set_base(attributes);
  if (name == "title") in_title_ = true;
}

void HtmlExtractor::Parser::on_end(std::string_view name) {
  if (name == "a") end_link();
  if (name == "title") in_title_ = false;
}

void HtmlExtractor::Parser::on_text(std::string_view text) {
  if (in_title_) {
    title_.append(text);
    return;
  }
  body_ += text;
  if (in_link_) anchor_.append(text);
  if (body_.size() > enough_body_) move_body();
}

void HtmlExtractor::Parser::end_phrase() {
  while (!body_.empty() && is_white_space(body_.back())) body_.pop_back();
  if (!body_.empty() && body_.back() != phrase_end) body_ += phrase_end;
  anchor_.separate();
}

/// Moves the body's text on, all but its end: at least a byte that is no white space stays, if there is one.
void HtmlExtractor::Parser::move_body() {
  const auto last = std::find_if_not(body_.rbegin(), body_.rend(), is_white_space);
  const auto moved = static_cast<std::size_t>(body_.rend() - last);
  if (moved > 1) {
    out_->body.append(std::string_view(body_).substr(0, moved - 1));
    body_.erase(0, moved - 1);
  }
  body_.resize(std::min(body_.size(), max_white_space));
  enough_body_ = body_.size() + default_piece_bytes;
}

void HtmlExtractor::Parser::start_link(const xmlChar** attributes) {
  if (!add_link(attributes)) return;
  in_link_ = true;
  link_ = out_->links.count() - 1;
  anchor_.clear();
}

void HtmlExtractor::Parser::end_link() {
  if (!in_link_) return;
  in_link_ = false;
  const std::string_view text = cut_at_character(anchor_.line(), max_link_bytes - anchor_bytes_);
  anchor_bytes_ += text.size();
  out_->links.set_anchor(link_, text);
}

bool HtmlExtractor::Parser::add_link(const xmlChar** attributes) {
  const std::string url = resolve_url(base_, href_of(attributes));
  if (url.empty()) return false;
  if (out_->links.count() >= max_links || link_bytes_ + url.size() > max_link_bytes) {
    ++dropped_links_;
    return false;
  }
  link_bytes_ += url.size();
  out_->links.append(url);
  return true;
}

void HtmlExtractor::Parser::set_base(const xmlChar** attributes) {
  if (has_base_) return;
  has_base_ = true;
  if (std::string resolved = resolve_url(base_, href_of(attributes)); !resolved.empty()) base_ = std::move(resolved);
}

HtmlExtractor::HtmlExtractor(std::size_t part_bytes) : parser_(std::make_unique<Parser>(part_bytes)) {}
HtmlExtractor::~HtmlExtractor() = default;

void HtmlExtractor::extract(PieceSource& html, std::string_view url, DocumentText& out) {
  parser_->extract(html, url, out);
}

void HtmlExtractor::extract(std::string_view html, std::string_view url, DocumentText& out) {
  ViewPieces whole(html);
  SlicedPieces pieces(whole);
  extract(pieces, url, out);
}

std::uint64_t HtmlExtractor::dropped_links() const { return parser_->dropped_links(); }

std::string html_parser_version() {
  const int number = std::atoi(xmlParserVersion);  // 20914, and perhaps a text
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace quern
