#include "quern/text/html_filter.hpp"

#include <algorithm>
#include <array>

#include "quern/core/ascii_text.hpp"
#include "quern/text/references.hpp"

namespace quern {
namespace {

/// What a byte is inside a tag.
enum ByteKind : unsigned char { name_byte = 1, ends_attribute = 2, ends_value = 4 };

constexpr std::array<unsigned char, 256> byte_kinds() {
  std::array<unsigned char, 256> kinds{};
  for (unsigned i = 0; i < 256; ++i) {
    const auto c = static_cast<char>(i);
    if (is_ascii_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == ':') kinds[i] |= name_byte;
    if (is_html_blank(c) || c == '/' || c == '>' || c == '=') kinds[i] |= ends_attribute;
    if (is_html_blank(c) || c == '>') kinds[i] |= ends_value;
  }
  return kinds;
}
constexpr std::array<unsigned char, 256> kinds = byte_kinds();

bool is(char c, ByteKind kind) { return (kinds[static_cast<unsigned char>(c)] & kind) != 0; }

/// True if the two names differ in case at most: a bit of a letter's byte is its case.
bool same_name(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) { return (x | 0x20) == (y | 0x20); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

class Filter {
 public:
  Filter(std::string_view html, std::string& out) : html_(html), out_(out) {}

  void run() {
    while (at_ < html_.size()) {
      const std::size_t markup = std::min(html_.find('<', at_), html_.size());
      put_text(html_.substr(at_, markup - at_));
      at_ = markup;
      if (at_ < html_.size()) pass_markup();
    }
  }

 private:
  /// What `out` ends with.
  enum class Ending { text, space, phrase };

  char byte(std::size_t at) const { return at < html_.size() ? html_[at] : '\0'; }

  void put_text(std::string_view text) {
    if (ending_ != Ending::text) {
      while (!text.empty() && is_html_blank(text.front())) text.remove_prefix(1);
    }
    if (text.empty()) return;
    append_with_whole_references(text, out_);
    ending_ = is_html_blank(text.back()) ? Ending::space : Ending::text;
  }

  /// Copies text in which a < begins no tag.
  void put_text_with_tags(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('<'), text.size());
      append_with_whole_references(text.substr(0, end), out_);
      if (end < text.size()) out_ += "&lt;";
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void separate() {
    if (ending_ != Ending::text) return;
    out_ += ' ';
    ending_ = Ending::space;
  }

  void end_phrase() {
    if (ending_ == Ending::phrase) return;
    out_ += "<br>";
    ending_ = Ending::phrase;
  }

  void end_link() {
    if (in_link_) out_ += "</a>";
    in_link_ = false;
  }

  /// Goes after the next `end`, or to the end of the page where there is none.
  void skip_past(std::string_view end, std::size_t from) {
    const std::size_t found = from < html_.size() ? html_.find(end, from) : std::string_view::npos;
    at_ = found == std::string_view::npos ? html_.size() : found + end.size();
  }

  void pass_markup() {
    const char next = byte(at_ + 1);
    if (is_ascii_letter(next)) {
      pass_start_tag();
    } else if (next == '/' && is_ascii_letter(byte(at_ + 2))) {
      pass_end_tag();
    } else if (next == '!' && html_.substr(at_, 4) == "<!--") {
      skip_comment();
    } else if (next == '!' || next == '?' || next == '/') {
      skip_past(">", at_ + 2);
    } else {
      // Not as it is: with markup dropped after it, it might begin a tag.
      out_ += "&lt;";
      ending_ = Ending::text;
      ++at_;
    }
  }

  void skip_comment() {
    if (byte(at_ + 4) == '>') {
      at_ += 5;
    } else if (byte(at_ + 4) == '-' && byte(at_ + 5) == '>') {
      at_ += 6;
    } else {
      skip_past("-->", at_ + 4);
    }
  }

  void pass_start_tag() {
    const std::string_view name = skip_name(1);
    const TagKind kind = tag_kind(name);
    const Attributes attributes = skip_attributes();
    if (kind == TagKind::block) {
      end_phrase();
      return;
    }
    separate();
    switch (kind) {
      case TagKind::link:
        end_link();
        in_link_ = put_link("<a ", attributes.href);
        break;
      case TagKind::area:
        put_link("<area ", attributes.href);
        break;
      case TagKind::base:
        put_link("<base ", attributes.href);
        break;
      case TagKind::picture:
        pictures_ += attributes.empty ? 0 : 1;
        break;
      case TagKind::raw:
        if (!attributes.empty) skip_raw_text(name);
        break;
      case TagKind::title:
        if (!attributes.empty) pass_title(name);
        break;
      default:
        break;
    }
  }

  void pass_end_tag() {
    const TagKind kind = tag_kind(skip_name(2));
    skip_attributes();
    if (kind == TagKind::block) {
      end_phrase();
      return;
    }
    separate();
    if (kind == TagKind::link) end_link();
    if (kind == TagKind::picture && pictures_ > 0) --pictures_;
  }

  bool put_link(std::string_view opening, std::string_view href) {
    if (href.empty()) return false;
    out_.append(opening).append(href) += '>';
    return true;
  }

  /// Copies the page's title, skips others; tags in a title are text. A title without an end tag has none: what
  /// follows is taken for the page's text.
  void pass_title(std::string_view name) {
    if (titles_end_) return;
    const std::size_t begin = at_;
    const std::size_t end = skip_raw_text(name);
    if (end == html_.size()) {
      at_ = begin;
      titles_end_ = true;
    } else if (!has_title_ && pictures_ == 0) {
      has_title_ = true;
      out_ += "<title>";
      put_text_with_tags(html_.substr(begin, end - begin));
      out_ += "</title>";
    }
  }

  /// Goes after the end tag of an element that nothing else ends; gives where that tag begins, the end of the page
  /// where it is missing.
  std::size_t skip_raw_text(std::string_view name) {
    while (at_ < html_.size()) {
      skip_past("</", at_);
      const std::size_t end = at_ + name.size();
      if (end < html_.size() && is(html_[end], ends_attribute) && same_name(html_.substr(at_, name.size()), name)) {
        const std::size_t tag = at_ - 2;
        at_ = end;
        skip_attributes();
        return tag;
      }
    }
    return html_.size();
  }

  /// Goes after a tag's opening, "<" or "</", and its name.
  std::string_view skip_name(std::size_t opening) {
    const std::size_t begin = at_ + opening;
    at_ = begin;
    while (at_ < html_.size() && is(html_[at_], name_byte)) ++at_;
    return html_.substr(begin, at_ - begin);
  }

  struct Attributes {
    std::string_view href;  ///< the first href, name and value as written; empty if there is none
    bool empty = false;     ///< the tag ends in "/>"
  };

  /// Goes after the tag's ">".
  Attributes skip_attributes() {
    Attributes found;
    while (at_ < html_.size()) {
      const char c = html_[at_];
      if (c == '>') {
        ++at_;
        return found;
      }
      found.empty = c == '/';
      if (found.empty || is_html_blank(c)) {
        ++at_;
        continue;
      }
      const std::size_t begin = at_;
      const std::string_view name = skip_attribute();
      if (found.href.empty() && same_name(name, "href")) found.href = html_.substr(begin, at_ - begin);
    }
    // The page ends within the tag, which counts as if it weren't there.
    return {};
  }

  void skip_blanks() {
    while (at_ < html_.size() && is_html_blank(html_[at_])) ++at_;
  }

  /// Goes after an attribute and gives its name; a value whose quote isn't closed takes the rest of the page.
  std::string_view skip_attribute() {
    const std::size_t begin = at_++;
    while (at_ < html_.size() && !is(html_[at_], ends_attribute)) ++at_;
    const std::size_t end = at_;
    skip_blanks();
    if (byte(at_) != '=') {
      at_ = end;
      return html_.substr(begin, end - begin);
    }
    ++at_;
    skip_blanks();
    const char quote = byte(at_);
    if (quote == '"' || quote == '\'') {
      skip_past(std::string_view(&quote, 1), at_ + 1);
    } else {
      while (at_ < html_.size() && !is(html_[at_], ends_value)) ++at_;
    }
    return html_.substr(begin, end - begin);
  }

  std::string_view html_;
  std::string& out_;
  std::size_t at_ = 0;
  Ending ending_ = Ending::phrase;
  bool in_link_ = false, has_title_ = false;
  /// No end tag of a title is left.
  bool titles_end_ = false;
  std::size_t pictures_ = 0;
};

}  // namespace

void filter_html(std::string_view html, std::string& out) {
  out = "<whole_page>";
  out.reserve(html.size() + out.size());
  Filter(html, out).run();
}

}  // namespace quern
