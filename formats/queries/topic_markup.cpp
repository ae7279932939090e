#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/tables/text_lines.hpp"
#include "quern/text/references.hpp"
#include "quern/text/sgml_tag.hpp"

namespace quern {
namespace {

constexpr std::string_view cdata_begin = "<![CDATA[", cdata_end = "]]>";

/// Collapses white space to single spaces and trims it.
std::string with_single_spaces(std::string_view text) {
  std::string result;
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    if (!result.empty()) result += ' ';
    result += word;
  }
  return result;
}

std::string attribute_text(std::string_view attributes, std::string_view name) {
  std::string text;
  append_without_references(sgml_attribute(attributes, name), text);
  return with_single_spaces(text);
}

/// "Topic: x" without "Topic:".
std::string_view without_label(std::string_view text, const std::vector<std::string_view>& labels) {
  for (const std::string_view label : labels) {
    if (!starts_with_ignoring_case(text, label)) continue;
    const std::string_view rest = trim(text.substr(label.size()));
    if (!rest.empty() && rest.front() == ':') return trim(rest.substr(1));
  }
  return text;
}

/// Finds the tags of a text, window by window.
class TopicTags {
 public:
  TopicTags(std::string_view text, const TextRelease& release) : text_(text), released_(text, release) { move_to(0); }

  /// Finds the next tag, comment or declaration at or after `from`, the end of the previous one.
  bool next(std::size_t from, SgmlTag& tag) {
    released_.advance_to(from);
    while (!scanner_.next(from - begin_, tag)) {
      if (end_ == text_.size()) return false;
      from = scanner_.undecided() == std::string_view::npos ? end_ : begin_ + scanner_.undecided();
      move_to(from);
      // Longer fields are refused without reading them again.
      released_.advance_to(from - std::min<std::size_t>(from, max_written_bytes));
    }
    tag.begin += begin_;
    tag.end += begin_;
    return true;
  }

 private:
  static constexpr std::size_t window_bytes = 4 * SgmlTagScanner::max_tag_bytes;

  void move_to(std::size_t begin) {
    end_ = std::min(text_.size(), begin + window_bytes);
    scanner_.move(begin - begin_, text_.substr(begin, end_ - begin), end_ == text_.size());
    begin_ = begin;
  }

  std::string_view text_;
  ReleasedText released_;
  SgmlTagScanner scanner_;
  std::size_t begin_ = 0, end_ = 0;  ///< the window
};

/// Assembles topics from tags and the text between them.
class TopicReader {
 public:
  TopicReader(std::string_view text, const TopicMarkup& markup, std::string_view name, const QueryVisitor& visit,
              const TextRelease& release)
      : text_(text), markup_(markup), name_(name), visit_(visit), release_(release) {}

  void read() {
    TopicTags tags(text_, release_);
    SgmlTag tag;
    for (std::size_t at = 0; tags.next(at, tag); at = tag.end) {
      add_to_field(tag.begin);
      text_begin_ = tag.end;
      if (tag.name.empty()) {
        add_cdata(text_.substr(tag.begin, tag.end - tag.begin));
        continue;
      }
      close_field();
      if (equals_ignoring_case(tag.name, markup_.topic_tag)) {
        has_closed_topics_ = has_closed_topics_ || (inside_ && tag.closing);
        finish_topic();
        if (tag.closing) continue;
        start_topic(tag);
        if (text_.substr(0, tag.end).ends_with("/>")) finish_topic();  // an empty XML element
      } else if (!tag.closing) {
        open_field(tag);
      }
    }
    add_to_field(text_.size());
    close_field();
    if (inside_ && has_closed_topics_)
      fail("has no </" + std::string(markup_.topic_tag) +
           ">, which others have: the file seems truncated; complete it, or add the tag");
    finish_topic();
  }

 private:
  void start_topic(const SgmlTag& tag) {
    inside_ = true;
    begin_ = tag.begin;
    fields_.assign(markup_.query_tags.size(), std::nullopt);
    id_.clear();
    for (const std::string_view attribute : markup_.id_attributes)
      if (id_.empty()) id_ = attribute_text(tag.attributes, attribute);
  }

  void open_field(const SgmlTag& tag) {
    if (equals_ignoring_case(tag.name, markup_.id_tag)) {
      // A second <num> means that </top> and <top> are missing between two topics.
      const bool another_topic = inside_ && !id_.empty() && markup_.id_attributes.empty();
      if (another_topic) finish_topic();
      if (!inside_) start_topic(tag);
      open_ = &id_text_;
    } else if (inside_) {
      for (std::size_t i = 0; i < fields_.size(); ++i)
        if (equals_ignoring_case(tag.name, markup_.query_tags[i]) && !fields_[i]) open_ = &fields_[i];
    }
  }

  /// Appends the text up to `end`, with references resolved.
  void add_to_field(std::size_t end) {
    if (open_ == nullptr) return;
    check_field(end - text_begin_);
    append_without_references(text_.substr(text_begin_, end - text_begin_), field_);
  }

  /// `more` is the number of bytes to add to the open field.
  void check_field(std::size_t more) const {
    if (field_.size() + more <= max_written_bytes) return;
    fail("has a field of more than " + size_text(max_written_bytes) + "; is this a file of queries?");
  }

  /// Throws CorruptFile with the topic's line.
  [[noreturn]] void fail(const std::string& why) const {
    fail_at_line(name_, line_number_at(text_, begin_, release_), "the topic that begins here " + why);
  }

  /// Handles sections without a name: CDATA is text; comments and declarations are ignored.
  void add_cdata(std::string_view section) {
    if (open_ == nullptr || section.substr(0, cdata_begin.size()) != cdata_begin) return;
    section.remove_prefix(cdata_begin.size());
    check_field(section.size());
    field_ += section.substr(0, section.rfind(cdata_end));
  }

  void close_field() {
    if (open_ == nullptr) return;
    *open_ = without_label(with_single_spaces(field_), markup_.leading_labels);
    if (open_ == &id_text_ && id_.empty()) id_ = *id_text_;
    open_ = nullptr;
    field_.clear();
  }

  void finish_topic() {
    if (!inside_) return;
    inside_ = false;
    if (id_.empty()) fail("has no number; add one in <" + std::string(markup_.id_tag) + ">");
    const auto field = std::find_if(fields_.begin(), fields_.end(), [](const auto& text) { return text.has_value(); });
    visit_(id_, field == fields_.end() ? std::string_view() : **field);
  }

  std::string_view text_;
  const TopicMarkup& markup_;
  std::string_view name_;
  const QueryVisitor& visit_;
  const TextRelease& release_;
  bool inside_ = false;
  bool has_closed_topics_ = false;
  std::size_t begin_ = 0;       ///< of the topic
  std::size_t text_begin_ = 0;  ///< of the text after the last tag
  std::string field_;           ///< text of the open field so far
  std::string id_;
  std::optional<std::string> id_text_;
  std::vector<std::optional<std::string>> fields_;
  std::optional<std::string>* open_ = nullptr;
};

}  // namespace

const TopicMarkup& trec_markup() {
  static const TopicMarkup markup{
      QueryFormat::trec, "top", "num", {}, {"title", "desc"}, {"number", "topic", "description"}};
  return markup;
}

const TopicMarkup& webtrack_markup() {
  static const TopicMarkup markup{
      QueryFormat::webtrack, "topic", "num", {"number", "id"}, {"query", "title", "description"}, {}};
  return markup;
}

const TopicMarkup* detect_topic_markup(std::string_view bytes, const TextRelease& release) {
  LineReader lines(bytes, release, max_written_bytes);
  std::string_view line;
  if (!lines.next(line) || !trim(line).starts_with('<')) return nullptr;
  TopicTags tags(bytes, release);
  SgmlTag tag;
  for (std::size_t at = 0; tags.next(at, tag); at = tag.end) {
    if (equals_ignoring_case(tag.name, trec_markup().id_tag)) return &trec_markup();
    if (equals_ignoring_case(tag.name, webtrack_markup().topic_tag)) return &webtrack_markup();
  }
  return nullptr;
}

void for_each_topic(std::string_view bytes, const TopicMarkup& markup, std::string_view name, const QueryVisitor& visit,
                    const TextRelease& release) {
  TopicReader(bytes, markup, name, visit, release).read();
}

}  // namespace quern
