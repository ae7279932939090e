#include "quern/text/html.hpp"

#include "quern/text/html_scanner.hpp"
#include "quern/text/references.hpp"
#include "quern/text/url.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// Memory kept from one page to the next; larger buffers are freed.
constexpr std::size_t kept_bytes = std::size_t{1} << 20;

/// Longer runs of white space are shortened.
constexpr std::size_t max_white_space = std::size_t{1} << 20;

bool is_white_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'; }
bool is_separator(char c) { return is_white_space(c) || c == phrase_end; }

void clear_and_shrink(std::string& text) {
  text.clear();
  if (text.capacity() > kept_bytes) text.shrink_to_fit();
}

/// Collects a text as one line: trimmed, with one space for each run of separators.
class LineText {
 public:
  explicit LineText(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  void clear() {
    clear_and_shrink(line_);
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

struct KnownTag {
  std::string_view name;
  TagKind kind;
};

constexpr KnownTag known_tags[] = {
    {"a", TagKind::link},         {"area", TagKind::area},         {"base", TagKind::base},
    {"abbr", TagKind::word_part}, {"acronym", TagKind::word_part}, {"b", TagKind::word_part},
    {"bdi", TagKind::word_part},  {"bdo", TagKind::word_part},     {"big", TagKind::word_part},
    {"cite", TagKind::word_part}, {"code", TagKind::word_part},    {"dfn", TagKind::word_part},
    {"em", TagKind::word_part},   {"font", TagKind::word_part},    {"i", TagKind::word_part},
    {"kbd", TagKind::word_part},  {"mark", TagKind::word_part},    {"nobr", TagKind::word_part},
    {"s", TagKind::word_part},    {"samp", TagKind::word_part},    {"small", TagKind::word_part},
    {"span", TagKind::word_part}, {"strike", TagKind::word_part},  {"strong", TagKind::word_part},
    {"sub", TagKind::word_part},  {"sup", TagKind::word_part},     {"tt", TagKind::word_part},
    {"u", TagKind::word_part},    {"var", TagKind::word_part},     {"wbr", TagKind::word_part},
    {"svg", TagKind::picture},    {"title", TagKind::title},       {"iframe", TagKind::raw},
    {"noembed", TagKind::raw},    {"noscript", TagKind::raw},      {"script", TagKind::raw},
    {"style", TagKind::raw},      {"template", TagKind::raw},      {"address", TagKind::block},
    {"article", TagKind::block},  {"aside", TagKind::block},       {"blockquote", TagKind::block},
    {"body", TagKind::block},     {"br", TagKind::block},          {"button", TagKind::block},
    {"caption", TagKind::block},  {"center", TagKind::block},      {"dd", TagKind::block},
    {"details", TagKind::block},  {"dialog", TagKind::block},      {"dir", TagKind::block},
    {"div", TagKind::block},      {"dl", TagKind::block},          {"dt", TagKind::block},
    {"fieldset", TagKind::block}, {"figcaption", TagKind::block},  {"figure", TagKind::block},
    {"footer", TagKind::block},   {"form", TagKind::block},        {"frame", TagKind::block},
    {"frameset", TagKind::block}, {"h1", TagKind::block},          {"h2", TagKind::block},
    {"h3", TagKind::block},       {"h4", TagKind::block},          {"h5", TagKind::block},
    {"h6", TagKind::block},       {"head", TagKind::block},        {"header", TagKind::block},
    {"hr", TagKind::block},       {"html", TagKind::block},        {"input", TagKind::block},
    {"legend", TagKind::block},   {"li", TagKind::block},          {"main", TagKind::block},
    {"menu", TagKind::block},     {"nav", TagKind::block},         {"noframes", TagKind::block},
    {"ol", TagKind::block},       {"optgroup", TagKind::block},    {"option", TagKind::block},
    {"p", TagKind::block},        {"pre", TagKind::block},         {"section", TagKind::block},
    {"select", TagKind::block},   {"summary", TagKind::block},     {"table", TagKind::block},
    {"tbody", TagKind::block},    {"td", TagKind::block},          {"textarea", TagKind::block},
    {"tfoot", TagKind::block},    {"th", TagKind::block},          {"thead", TagKind::block},
    {"tr", TagKind::block},       {"ul", TagKind::block}};

constexpr PackedNameTable<8> table(known_tags);

}  // namespace

/// The state of the page being read.
class HtmlExtractor::Page final : public HtmlEvents {
 public:
  Page() : scanner_(*this) {}
  void extract(PieceSource& html, std::string_view url, DocumentText& out);

  void text(std::string_view text, bool plain) override;
  void space() override { add_text(" "); }
  void end_phrase() override;
  void begin_link(std::string_view href) override;
  void end_link() override;
  void area(std::string_view href) override { add_link(href); }
  void base(std::string_view href) override;
  void title(std::string_view text) override;

 private:
  void begin(std::string_view url, DocumentText& out);
  void end();
  void add_text(std::string_view text);
  void see_text(std::size_t begin);
  void move_body();
  bool add_link(std::string_view href);

  HtmlScanner scanner_;
  std::string href_;  ///< buffer for one attribute value

  // State of the current page.
  DocumentText* out_ = nullptr;
  std::string body_;             ///< the body's end, including white space that may be dropped
  std::size_t enough_body_ = 0;  ///< move_body() runs when body_ is larger
  UrlResolver urls_;
  bool has_base_ = false;
  bool in_link_ = false;
  std::uint64_t link_ = 0;             ///< the open link's number
  LineText anchor_{max_anchor_bytes};  ///< its text
  std::size_t link_bytes_ = 0, anchor_bytes_ = 0;
};

void HtmlExtractor::Page::extract(PieceSource& html, std::string_view url, DocumentText& out) {
  begin(url, out);
  for (std::string_view piece = html.next(); !piece.empty(); piece = html.next()) scanner_.append(piece);
  scanner_.finish();
  end();
}

void HtmlExtractor::Page::begin(std::string_view url, DocumentText& out) {
  out.title.clear();
  out.body.clear();
  out.links.clear();
  out_ = &out;
  scanner_.clear();
  clear_and_shrink(body_);
  enough_body_ = default_piece_bytes;
  urls_.set_base(url);
  has_base_ = in_link_ = false;
  link_bytes_ = anchor_bytes_ = 0;
}

void HtmlExtractor::Page::end() {
  end_link();
  while (!body_.empty() && is_separator(body_.back())) body_.pop_back();
  out_->body.append(body_);
}

void HtmlExtractor::Page::text(std::string_view text, bool plain) {
  const std::size_t begin = body_.size();
  if (plain)
    body_ += text;
  else
    append_page_text(text, body_);
  see_text(begin);
}

void HtmlExtractor::Page::add_text(std::string_view text) {
  body_ += text;
  see_text(body_.size() - text.size());
}

/// Called with the start of new text in body_.
void HtmlExtractor::Page::see_text(std::size_t begin) {
  if (in_link_) anchor_.append(std::string_view(body_).substr(begin));
  if (body_.size() > enough_body_) move_body();
}

void HtmlExtractor::Page::end_phrase() {
  while (!body_.empty() && is_white_space(body_.back())) body_.pop_back();
  if (!body_.empty() && body_.back() != phrase_end) body_ += phrase_end;
  anchor_.separate();
}

/// Moves body_ to the document, except for its last byte that isn't white space and what follows it.
void HtmlExtractor::Page::move_body() {
  const auto last = std::find_if_not(body_.rbegin(), body_.rend(), is_white_space);
  const auto moved = static_cast<std::size_t>(body_.rend() - last);
  if (moved > 1) {
    out_->body.append(std::string_view(body_).substr(0, moved - 1));
    body_.erase(0, moved - 1);
  }
  body_.resize(std::min(body_.size(), max_white_space));
  enough_body_ = body_.size() + default_piece_bytes;
}

void HtmlExtractor::Page::title(std::string_view text) {
  std::string resolved;
  for (std::size_t at = 0; at < text.size();) {
    // A reference ends at a <.
    const std::size_t end = std::min(text.find('<', at), text.size());
    append_page_text(text.substr(at, end - at), resolved);
    if (end < text.size()) resolved += '<';
    at = end + 1;
  }
  LineText line(std::string::npos);
  line.append(resolved);
  out_->title.append(line.line());
}

void HtmlExtractor::Page::begin_link(std::string_view href) {
  if (!add_link(href)) return;
  in_link_ = true;
  link_ = out_->links.count() - 1;
  anchor_.clear();
}

void HtmlExtractor::Page::end_link() {
  if (!in_link_) return;
  in_link_ = false;
  const std::string_view text = cut_at_character(anchor_.line(), max_link_bytes - anchor_bytes_);
  anchor_bytes_ += text.size();
  out_->links.set_anchor(link_, text);
}

bool HtmlExtractor::Page::add_link(std::string_view href) {
  const std::string_view url = urls_.resolve(attribute_text(href, href_));
  if (url.empty()) return false;
  if (out_->links.count() >= max_links || link_bytes_ + url.size() > max_link_bytes) return false;
  link_bytes_ += url.size();
  out_->links.append(url);
  return true;
}

void HtmlExtractor::Page::base(std::string_view href) {
  if (has_base_) return;
  has_base_ = true;
  const std::string resolved(urls_.resolve(attribute_text(href, href_)));
  if (!resolved.empty()) urls_.set_base(resolved);
}

HtmlExtractor::HtmlExtractor() : page_(std::make_unique<Page>()) {}
HtmlExtractor::~HtmlExtractor() = default;

void HtmlExtractor::extract(PieceSource& html, std::string_view url, DocumentText& out) {
  page_->extract(html, url, out);
}

void HtmlExtractor::extract(std::string_view html, std::string_view url, DocumentText& out) {
  ViewPieces whole(html);
  SlicedPieces pieces(whole);
  extract(pieces, url, out);
}

TagKind tag_kind(std::string_view name) { return tag_kind(name, packed_name(name)); }

TagKind tag_kind(std::string_view name, std::uint64_t front) {
  // The bit 0x20 is set in all bytes of known names, and makes letters lower-case.
  constexpr std::uint64_t all_lower = 0x2020202020202020u;
  const std::uint64_t key =
      front | (name.size() >= 8 ? all_lower : all_lower & ((std::uint64_t{1} << (8 * name.size())) - 1));
  const std::size_t row = table.find(key);
  if (row == table.none) return TagKind::inline_text;
  const KnownTag& tag = known_tags[row];
  if (tag.name.size() != name.size()) return TagKind::inline_text;
  const auto same = [](char c, char lower) { return (c | 0x20) == lower; };
  const bool ends_alike = name.size() <= 8 || std::equal(name.begin() + 8, name.end(), tag.name.begin() + 8, same);
  return ends_alike ? tag.kind : TagKind::inline_text;
}

}  // namespace quern
