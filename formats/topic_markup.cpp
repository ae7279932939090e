#include "quern/formats/topic_markup.hpp"

#include <algorithm>
#include <optional>

#include "quern/formats/markup_scanner.hpp"
#include "quern/formats/text_lines.hpp"

namespace quern {
namespace {

/// "Topic: x" without "Topic:".
std::string_view without_label(std::string_view text, const std::vector<std::string_view>& labels) {
  for (const std::string_view label : labels) {
    if (!same_word(text.substr(0, label.size()), label)) continue;
    const std::string_view rest = trimmed(text.substr(label.size()));
    if (!rest.empty() && rest.front() == ':') return trimmed(rest.substr(1));
  }
  return text;
}

/// Puts topics together from tags and the text between them.
class TopicReader {
 public:
  TopicReader(std::string_view text, const TopicMarkup& markup, std::string_view name)
      : text_(text), markup_(markup), name_(name) {}

  std::vector<Query> read() {
    TagScanner tags(text_);
    while (const std::optional<Tag> tag = tags.next()) {
      close_field(tag->begin);
      if (same_word(tag->name, markup_.topic_tag)) {
        finish_topic();
        if (!tag->closing) start_topic(*tag);
      } else if (!tag->closing) {
        open_field(*tag);
      }
    }
    close_field(text_.size());
    finish_topic();
    return std::move(topics_);
  }

 private:
  void start_topic(const Tag& tag) {
    inside_ = true;
    begin_ = tag.begin;
    fields_.assign(markup_.query_tags.size(), std::nullopt);
    id_.clear();
    for (const std::string_view attribute : markup_.id_attributes) {
      if (id_.empty()) id_ = attribute_value(tag.attributes, attribute);
    }
  }

  void open_field(const Tag& tag) {
    if (same_word(tag.name, markup_.id_tag)) {
      // A second <num> tells that both </top> and <top> are missing between two topics.
      const bool another_topic = inside_ && !id_.empty() && markup_.id_attributes.empty();
      if (another_topic) finish_topic();
      if (!inside_) start_topic(tag);
      open_ = &id_text_;
    } else if (inside_) {
      for (std::size_t i = 0; i < fields_.size(); ++i) {
        if (same_word(tag.name, markup_.query_tags[i]) && !fields_[i]) open_ = &fields_[i];
      }
    }
    field_begin_ = tag.end;
  }

  void close_field(std::size_t end) {
    if (open_ == nullptr) return;
    const std::string text = field_text(text_.substr(field_begin_, end - field_begin_));
    *open_ = std::string(without_label(text, markup_.leading_labels));
    if (open_ == &id_text_ && id_.empty()) id_ = *id_text_;
    open_ = nullptr;
  }

  void finish_topic() {
    if (!inside_) return;
    inside_ = false;
    if (id_.empty()) {
      const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin_), '\n');
      fail_at_line(name_, static_cast<std::uint64_t>(line),
                   "the topic that begins here has no number; give it one in <" + std::string(markup_.id_tag) + ">");
    }
    Query& query = topics_.emplace_back();
    query.id = std::move(id_);
    for (std::optional<std::string>& field : fields_) {
      if (!field) continue;
      query.text = std::move(*field);
      break;
    }
  }

  std::string_view text_;
  const TopicMarkup& markup_;
  std::string_view name_;
  std::vector<Query> topics_;
  bool inside_ = false;
  std::size_t begin_ = 0;        ///< of the topic
  std::size_t field_begin_ = 0;  ///< of the open field's text
  std::string id_;
  std::optional<std::string> id_text_;
  std::vector<std::optional<std::string>> fields_;
  std::optional<std::string>* open_ = nullptr;
};

}  // namespace

const TopicMarkup& trec_markup() {
  static const TopicMarkup markup{"trec", "top", "num", {}, {"title", "desc"}, {"Number", "Topic", "Description"}};
  return markup;
}

const TopicMarkup& webtrack_markup() {
  static const TopicMarkup markup{"webtrack", "topic", "num", {"number", "id"}, {"query", "title", "description"}, {}};
  return markup;
}

const TopicMarkup* detect_topic_markup(std::string_view bytes) {
  const std::string_view text = trimmed(bytes);
  if (text.empty() || text.front() != '<') return nullptr;
  TagScanner tags(text);
  while (const std::optional<Tag> tag = tags.next()) {
    if (same_word(tag->name, trec_markup().id_tag)) return &trec_markup();
    if (same_word(tag->name, webtrack_markup().topic_tag)) return &webtrack_markup();
  }
  return nullptr;
}

std::vector<Query> parse_topics(std::string_view bytes, const TopicMarkup& markup, std::string_view name) {
  return TopicReader(bytes, markup, name).read();
}

}  // namespace quern
