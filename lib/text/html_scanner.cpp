#include "quern/text/html_scanner.hpp"

#include "quern/text/references.hpp"
#include "quern/text/text_block.hpp"

namespace quern {
namespace {

/// The role of a byte inside a tag.
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

/// Compares names without case: the bit 0x20 of a letter is its case.
bool same_name(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) { return (x | 0x20) == (y | 0x20); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

constexpr std::string_view title_end_tag = "</title>";

}  // namespace

/// The state of a page being scanned: its current window, and what earlier windows left open.
class HtmlScanner::State {
 public:
  explicit State(HtmlEvents& events) : events_(&events) {}
  void append(std::string_view piece);
  void finish();

 private:
  /// The end of the text reported so far.
  enum class Ending { text, space, phrase };
  /// The syntax that the next byte of the page belongs to.
  enum class Place { text, comment, declaration, raw_text, long_tag };
  /// As above, within a long tag.
  enum class TagPlace { tag_name, between_attributes, name, after_name, before_value, quoted_value, bare_value };

  // run() scans a window. The pass_ functions consume one item each; if they need more of the page, they return false
  // and stay before the item.
  std::size_t run(std::string_view window);
  bool pass();
  bool pass_text();
  bool pass_markup();
  bool pass_start_tag();
  bool pass_end_tag();
  bool pass_title();
  bool pass_raw_text();
  bool pass_long_tag();
  /// Advances past the next `end`, to where text begins again.
  bool skip_past(std::string_view end);
  /// Returns to the start of a tag that does not end in the window.
  bool wait_for_tag(std::size_t begin, std::size_t after_name);
  bool step_in_long_tag(char c);

  struct Attributes {
    std::string_view href;  ///< the first href's value as written, without quotes
    bool has_href = false;
    bool empty = false;  ///< the tag ends in "/>"
    bool whole = false;  ///< the tag's end is in the window
  };
  struct Attribute {
    std::string_view name, value;
  };
  std::string_view skip_name(std::size_t opening);
  TagKind kind_of(std::string_view name) const;
  Attributes skip_attributes();
  Attribute skip_attribute();
  void skip_blanks();
  std::size_t find_raw_end(std::string_view name, std::size_t from) const;
  std::size_t find_title_end();

  // Reporting of events.
  void put_text(std::string_view text, bool plain);
  void separate(TagKind kind);
  void end_phrase();
  void begin_link(const Attributes& attributes);
  void end_link();

  char byte(std::size_t at) const { return at < html_.size() ? html_[at] : '\0'; }

  TextWindow page_;
  std::string_view html_;  ///< the window
  std::size_t at_ = 0;     ///< the position in it
  bool ends_ = false;      ///< the window reaches the end of the page
  HtmlEvents* events_;
  Place place_ = Place::text;
  std::string raw_name_;  ///< name of the element whose raw text is being scanned
  TagPlace tag_place_ = TagPlace::tag_name;
  char quote_ = '\0';
  /// The range of the window where no end tag of a title begins.
  std::size_t title_end_from_ = 0, title_end_ = 0;
  Ending ending_ = Ending::phrase;
  bool in_text_ = false;  ///< text was reported since the last markup
  bool in_link_ = false, has_title_ = false;
  std::size_t pictures_ = 0;
};

void HtmlScanner::State::append(std::string_view piece) {
  page_.append(piece, [&](std::string_view window) { return run(window); });
}

void HtmlScanner::State::finish() {
  ends_ = true;
  page_.finish([&](std::string_view window) { return run(window); });
}

std::size_t HtmlScanner::State::run(std::string_view window) {
  html_ = window;
  at_ = 0;
  while (at_ < html_.size() && pass()) {
  }
  title_end_from_ -= std::min(title_end_from_, at_);
  title_end_ -= std::min(title_end_, at_);
  return at_;
}

bool HtmlScanner::State::pass() {
  switch (place_) {
    case Place::text:
      return pass_text();
    case Place::comment:
      return skip_past("-->");
    case Place::declaration:
      return skip_past(">");
    case Place::raw_text:
      return pass_raw_text();
    case Place::long_tag:
      return pass_long_tag();
  }
  return false;
}

bool HtmlScanner::State::pass_text() {
  std::size_t end = find_markup_or_reference(html_, at_);
  const bool plain = end == html_.size() || html_[end] == '<';
  if (!plain) end = std::min(html_.find('<', end), html_.size());
  const std::string_view text = html_.substr(at_, end - at_);
  const bool decided = ends_ || end < html_.size();
  const std::size_t bytes = decided ? text.size() : decided_page_text_bytes(text, max_look_ahead);
  put_text(text.substr(0, bytes), plain);
  at_ += bytes;
  return decided && (at_ == html_.size() || pass_markup());
}

void HtmlScanner::State::put_text(std::string_view text, bool plain) {
  if (ending_ != Ending::text && !in_text_)
    while (!text.empty() && is_html_blank(text.front())) text.remove_prefix(1);
  if (text.empty()) return;
  events_->text(text, plain);
  in_text_ = true;
  ending_ = is_html_blank(text.back()) ? Ending::space : Ending::text;
}

/// Separates the text before a tag from the text after it.
void HtmlScanner::State::separate(TagKind kind) {
  if (kind == TagKind::block) return end_phrase();
  if (kind == TagKind::link || ending_ != Ending::text) return;
  events_->space();
  ending_ = Ending::space;
}

void HtmlScanner::State::end_phrase() {
  if (ending_ == Ending::phrase) return;
  events_->end_phrase();
  ending_ = Ending::phrase;
}

void HtmlScanner::State::begin_link(const Attributes& attributes) {
  end_link();
  if (!attributes.has_href) return;
  events_->begin_link(attributes.href);
  in_link_ = true;
}

void HtmlScanner::State::end_link() {
  if (in_link_) events_->end_link();
  in_link_ = false;
}

bool HtmlScanner::State::skip_past(std::string_view end) {
  const std::size_t found = html_.find(end, at_);
  if (found == std::string_view::npos) {
    // The window may end within `end`.
    at_ = std::max(at_, html_.size() - (ends_ ? 0 : std::min(html_.size(), end.size() - 1)));
    return false;
  }
  at_ = found + end.size();
  place_ = Place::text;
  return true;
}

bool HtmlScanner::State::pass_markup() {
  constexpr std::size_t longest_opening = 6;  // of "<!--->"
  if (!ends_ && html_.size() - at_ < longest_opening) return false;
  in_text_ = false;
  const char next = byte(at_ + 1);
  if (is_ascii_letter(next)) return pass_start_tag();
  if (next == '/' && is_ascii_letter(byte(at_ + 2))) return pass_end_tag();
  const std::string_view rest = html_.substr(at_);
  if (rest.starts_with("<!-->")) {
    at_ += 5;
  } else if (rest.starts_with("<!--->")) {
    at_ += 6;
  } else if (rest.starts_with("<!--")) {
    place_ = Place::comment;
    at_ += 4;
  } else if (next == '!' || next == '?' || next == '/') {
    place_ = Place::declaration;
    at_ += 2;
  } else {
    events_->text(html_.substr(at_, 1), true);
    ending_ = Ending::text;
    ++at_;
  }
  return true;
}

bool HtmlScanner::State::pass_start_tag() {
  const std::size_t begin = at_;
  const std::string_view name = skip_name(1);
  const std::size_t after_name = at_;
  const TagKind kind = kind_of(name);
  const Attributes attributes = skip_attributes();
  if (!attributes.whole) return wait_for_tag(begin, after_name);
  if (at_ - begin > max_look_ahead || kind == TagKind::word_part) return true;
  separate(kind);
  switch (kind) {
    case TagKind::link:
      begin_link(attributes);
      break;
    case TagKind::area:
      if (attributes.has_href) events_->area(attributes.href);
      break;
    case TagKind::base:
      if (attributes.has_href) events_->base(attributes.href);
      break;
    case TagKind::picture:
      pictures_ += attributes.empty ? 0 : 1;
      break;
    case TagKind::raw:
      if (attributes.empty) break;
      raw_name_ = name;
      place_ = Place::raw_text;
      break;
    case TagKind::title:
      if (attributes.empty || pass_title()) break;
      at_ = begin;
      return false;
    default:
      break;
  }
  return true;
}

bool HtmlScanner::State::pass_end_tag() {
  const std::size_t begin = at_;
  const TagKind kind = kind_of(skip_name(2));
  const std::size_t after_name = at_;
  if (!skip_attributes().whole) return wait_for_tag(begin, after_name);
  if (at_ - begin > max_look_ahead || kind == TagKind::word_part) return true;
  separate(kind);
  if (kind == TagKind::link) end_link();
  if (kind == TagKind::picture && pictures_ > 0) --pictures_;
  return true;
}

bool HtmlScanner::State::wait_for_tag(std::size_t begin, std::size_t after_name) {
  if (ends_) return true;  // the page ends within the tag, which is dropped
  at_ = begin;
  if (html_.size() - begin <= max_look_ahead) return false;
  at_ = after_name;
  place_ = Place::long_tag;
  tag_place_ = TagPlace::tag_name;
  return true;
}

bool HtmlScanner::State::pass_long_tag() {
  while (at_ < html_.size()) {
    const char c = html_[at_];
    if (tag_place_ == TagPlace::between_attributes && c == '>') {
      ++at_;
      place_ = Place::text;
      return true;
    }
    if (step_in_long_tag(c)) ++at_;
  }
  return true;
}

/// Handles one byte as skip_attribute() handles attributes; false if the byte must be examined again.
bool HtmlScanner::State::step_in_long_tag(char c) {
  const auto go_to = [this](TagPlace place, bool passes) {
    tag_place_ = place;
    return passes;
  };
  switch (tag_place_) {
    case TagPlace::tag_name:
      return is(c, name_byte) || go_to(TagPlace::between_attributes, false);
    case TagPlace::between_attributes:
      return is_html_blank(c) || c == '/' || go_to(TagPlace::name, true);
    case TagPlace::name:
      return !is(c, ends_attribute) || go_to(TagPlace::after_name, false);
    case TagPlace::after_name:
      if (c == '=') return go_to(TagPlace::before_value, true);
      return is_html_blank(c) || go_to(TagPlace::between_attributes, false);
    case TagPlace::before_value:
      if (is_html_blank(c)) return true;
      quote_ = c;
      if (c == '"' || c == '\'') return go_to(TagPlace::quoted_value, true);
      return go_to(TagPlace::bare_value, false);
    case TagPlace::quoted_value:
      return c != quote_ || go_to(TagPlace::between_attributes, true);
    case TagPlace::bare_value:
      return !is(c, ends_value) || go_to(TagPlace::between_attributes, false);
  }
  return true;
}

/// Reports the page's title and skips further ones; tags in a title are text. A title without an end tag is body text.
bool HtmlScanner::State::pass_title() {
  const std::size_t end = find_title_end();
  if (end == std::string_view::npos) return ends_ || html_.size() - at_ > max_look_ahead + title_end_tag.size();
  if (end - at_ > max_look_ahead) return true;
  if (!has_title_ && pictures_ == 0) {
    has_title_ = true;
    events_->title(html_.substr(at_, end - at_));
  }
  at_ = end;
  return true;
}

/// The position in the window of the next end tag of a title.
std::size_t HtmlScanner::State::find_title_end() {
  const bool is_known = title_end_from_ <= at_ && at_ <= title_end_;
  const std::size_t found = find_raw_end("title", is_known ? title_end_ : at_);
  if (!is_known) title_end_from_ = at_;
  // The window may end within the tag.
  title_end_ = std::min(found, std::max(at_, html_.size() - std::min(html_.size(), title_end_tag.size())));
  return found;
}

bool HtmlScanner::State::pass_raw_text() {
  const std::size_t end = find_raw_end(raw_name_, at_);
  if (end == std::string_view::npos) {
    const std::size_t tag_bytes = raw_name_.size() + std::string_view("</>").size();
    at_ = std::max(at_, html_.size() - (ends_ ? 0 : std::min(html_.size(), tag_bytes)));
    return false;
  }
  at_ = end;
  place_ = Place::text;
  return true;
}

/// The position of the end tag of an element whose content is raw text, at or after `from`; npos if missing.
std::size_t HtmlScanner::State::find_raw_end(std::string_view name, std::size_t from) const {
  constexpr std::string_view opening = "</";
  for (std::size_t at = html_.find(opening, from); at != std::string_view::npos; at = html_.find(opening, at + 2)) {
    const std::size_t end = at + opening.size() + name.size();
    if (end >= html_.size()) break;
    if (is(html_[end], ends_attribute) && same_name(html_.substr(end - name.size(), name.size()), name)) return at;
  }
  return std::string_view::npos;
}

/// Advances past a tag's opening, "<" or "</", and its name, and returns the name.
std::string_view HtmlScanner::State::skip_name(std::size_t opening) {
  const std::size_t begin = at_ + opening;
  at_ = begin;
  while (at_ < html_.size() && is(html_[at_], name_byte)) ++at_;
  return html_.substr(begin, at_ - begin);
}

/// The kind of a tag; its name must lie in the window.
TagKind HtmlScanner::State::kind_of(std::string_view name) const {
  const auto left = static_cast<std::size_t>(html_.data() + html_.size() - name.data());
  if (left < sizeof(std::uint64_t)) return tag_kind(name);
  std::uint64_t front = load_le<std::uint64_t>(name.data());
  if (name.size() < sizeof front) front &= (std::uint64_t{1} << (8 * name.size())) - 1;
  return tag_kind(name, front);
}

/// Advances past the tag's ">".
HtmlScanner::State::Attributes HtmlScanner::State::skip_attributes() {
  Attributes found;
  while (at_ < html_.size()) {
    const char c = html_[at_];
    if (c == '>') {
      ++at_;
      found.whole = true;
      return found;
    }
    found.empty = c == '/';
    if (found.empty || is_html_blank(c)) {
      ++at_;
      continue;
    }
    const Attribute attribute = skip_attribute();
    if (!found.has_href && same_name(attribute.name, "href")) {
      found.href = attribute.value;
      found.has_href = true;
    }
  }
  return {};
}

void HtmlScanner::State::skip_blanks() {
  while (at_ < html_.size() && is_html_blank(html_[at_])) ++at_;
}

/// Advances past an attribute; an unclosed quote extends to the end of the page.
HtmlScanner::State::Attribute HtmlScanner::State::skip_attribute() {
  std::size_t begin = at_++;
  while (at_ < html_.size() && !is(html_[at_], ends_attribute)) ++at_;
  const std::size_t end = at_;
  Attribute found{html_.substr(begin, end - begin), {}};
  skip_blanks();
  if (byte(at_) != '=') {
    at_ = end;
    return found;
  }
  ++at_;
  skip_blanks();
  begin = at_;
  const char quote = byte(at_);
  if (quote == '"' || quote == '\'') {
    const std::size_t closing = quote == '"' ? find_any_of<'"'>(html_, begin + 1) : find_any_of<'\''>(html_, begin + 1);
    found.value = html_.substr(begin + 1, closing - (begin + 1));
    at_ = std::min(closing + 1, html_.size());
  } else {
    while (at_ < html_.size() && !is(html_[at_], ends_value)) ++at_;
    found.value = html_.substr(begin, at_ - begin);
  }
  return found;
}

HtmlScanner::HtmlScanner(HtmlEvents& events) : events_(&events), state_(std::make_unique<State>(events)) {}
HtmlScanner::~HtmlScanner() = default;

void HtmlScanner::clear() { *state_ = State(*events_); }
void HtmlScanner::append(std::string_view piece) { state_->append(piece); }
void HtmlScanner::finish() { state_->finish(); }

}  // namespace quern
