#include "quern/formats/queries/topic_markup.hpp"

#include <algorithm>
#include <optional>

#include "quern/formats/tables/text_lines.hpp"
#include "quern/text/references.hpp"
#include "quern/text/sgml_tag.hpp"

namespace quern {
namespace {

constexpr std::string_view cdata_begin = "<![CDATA[", cdata_end = "]]>";

/// Each run of white space as one space, none at the ends.
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

/// Puts topics together from tags and the text between them.
class TopicReader {
 public:
  TopicReader(std::string_view text, const TopicMarkup& markup, std::string_view name, const QueryVisitor& visit)
      : text_(text), markup_(markup), name_(name), visit_(visit) {}

  void read() {
    SgmlTagScanner tags(text_);
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
        finish_topic();
        if (!tag.closing) start_topic(tag);
      } else if (!tag.closing) {
        open_field(tag);
      }
    }
    add_to_field(text_.size());
    close_field();
    finish_topic();
  }

 private:
  void start_topic(const SgmlTag& tag) {
    inside_ = true;
    begin_ = tag.begin;
    fields_.assign(markup_.query_tags.size(), std::nullopt);
    id_.clear();
    for (const std::string_view attribute : markup_.id_attributes) {
      if (id_.empty()) id_ = attribute_text(tag.attributes, attribute);
    }
  }

  void open_field(const SgmlTag& tag) {
    if (equals_ignoring_case(tag.name, markup_.id_tag)) {
      // A second <num> means that both </top> and <top> are missing between two topics.
      const bool another_topic = inside_ && !id_.empty() && markup_.id_attributes.empty();
      if (another_topic) finish_topic();
      if (!inside_) start_topic(tag);
      open_ = &id_text_;
    } else if (inside_) {
      for (std::size_t i = 0; i < fields_.size(); ++i) {
        if (equals_ignoring_case(tag.name, markup_.query_tags[i]) && !fields_[i]) open_ = &fields_[i];
      }
    }
  }

  /// The text up to `end`, references resolved.
  void add_to_field(std::size_t end) {
    if (open_ != nullptr) append_without_references(text_.substr(text_begin_, end - text_begin_), field_);
  }

  /// What has no name is a comment or a declaration, which say nothing, or CDATA.
  void add_cdata(std::string_view section) {
    if (open_ == nullptr || section.substr(0, cdata_begin.size()) != cdata_begin) return;
    section.remove_prefix(cdata_begin.size());
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
    if (id_.empty()) {
      const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin_), '\n');
      fail_at_line(name_, static_cast<std::uint64_t>(line),
                   "the topic that begins here has no number; give it one in <" + std::string(markup_.id_tag) + ">");
    }
    const auto field = std::find_if(fields_.begin(), fields_.end(), [](const auto& text) { return text.has_value(); });
    visit_(id_, field == fields_.end() ? std::string_view() : **field);
  }

  std::string_view text_;
  const TopicMarkup& markup_;
  std::string_view name_;
  const QueryVisitor& visit_;
  bool inside_ = false;
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

const TopicMarkup* detect_topic_markup(std::string_view bytes) {
  const std::string_view text = trim(bytes);
  if (text.empty() || text.front() != '<') return nullptr;
  SgmlTagScanner tags(text);
  SgmlTag tag;
  for (std::size_t at = 0; tags.next(at, tag); at = tag.end) {
    if (equals_ignoring_case(tag.name, trec_markup().id_tag)) return &trec_markup();
    if (equals_ignoring_case(tag.name, webtrack_markup().topic_tag)) return &webtrack_markup();
  }
  return nullptr;
}

void for_each_topic(std::string_view bytes, const TopicMarkup& markup, std::string_view name,
                    const QueryVisitor& visit) {
  TopicReader(bytes, markup, name, visit).read();
}

}  // namespace quern
