#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/tables/text_lines.hpp"
#include "quern/text/references.hpp"
#include "quern/text/sgml_tag.hpp"
#include "quern/text/utf8.hpp"

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

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), ascii_lower);
  return text;
}

std::string attribute_text(std::string_view attributes, std::string_view name) {
  std::string text;
  append_without_references(sgml_attribute(attributes, name), text);
  return with_single_spaces(text);
}

/// Labels that may open a field of a TREC topic, with a colon.
constexpr std::string_view leading_labels[] = {"number", "topic", "description", "narrative"};

/// "Topic: x" without "Topic:".
std::string_view without_label(std::string_view text) {
  for (const std::string_view label : leading_labels) {
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
      // Fields that are longer are read again, from the file.
      released_.advance_to(from - std::min<std::size_t>(from, window_bytes));
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

/// Tags around a topic. <session> is that of the TREC session track, whose topics are not its queries.
constexpr TopicMarkup topic_markups[] = {
    {QueryFormat::trec, "top"},          {QueryFormat::trec, "num"},       {QueryFormat::webtrack, "topic"},
    {QueryFormat::webtrack, "query"},    {QueryFormat::webtrack, "event"}, {QueryFormat::webtrack, "inex_topic"},
    {QueryFormat::automatic, "session"},
};
constexpr const TopicMarkup& trec_markup = topic_markups[0];

constexpr std::string_view id_attributes[] = {"number", "id", "num", "qid", "topic_id", "query_id", "q"};
constexpr std::string_view id_tags[] = {"num",      "number",  "identifier", "qid",     "id",
                                        "query_id", "queryid", "topic_id",   "topicid", "topic-id"};

/// Stands for the tag around a topic: text directly in it.
constexpr std::string_view directly;

/// Tags that can contain a query.
struct QueryTags {
  std::vector<std::string_view> tags;
  bool joins = false;           ///< all their texts are the query, in the file's order; otherwise the first one
  bool is_whole_topic = false;  ///< only if the topic has no other text
};

/// By priority.
const std::vector<QueryTags>& usual_query_tags() {
  static const std::vector<QueryTags> tags{
      {{"query"}},
      {{"title"}},
      {{"content"}},
      {{"text"}},
      {{"desc", "description"}},
      {{directly}, true, true},
      {{"disease", "gene", "variant", "demographic", "treatment", "other", "field"}, true, true},
  };
  return tags;
}

/// Tags of typography are part of the text around them; those of lines and paragraphs separate words.
constexpr std::string_view inline_tags[] = {"b", "i", "em", "strong", "u", "span", "sub", "sup", "small", "font"};
constexpr std::string_view line_tags[] = {"br", "p"};

bool is_one_of(std::string_view name, std::span<const std::string_view> tags) {
  return std::any_of(tags.begin(), tags.end(), [&](std::string_view tag) { return equals_ignoring_case(name, tag); });
}

/// "title" is called "EN-title" where a file has several languages.
bool is_called(std::string_view name, std::string_view tag) {
  const bool names_language = name.size() > 3 && name[2] == '-' && is_ascii_letter(name[0]) && is_ascii_letter(name[1]);
  return equals_ignoring_case(name, tag) || (names_language && equals_ignoring_case(name.substr(3), tag));
}

/// The first operator in a query of Indri, such as "#uw8("; empty if there is none.
std::string_view indri_operator(std::string_view text) {
  for (std::size_t at = text.find('#'); at != text.npos; at = text.find('#', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && (is_ascii_letter(text[end]) || is_ascii_digit(text[end]))) ++end;
    if (end < text.size() && end > at + 1 && std::string_view("([:").find(text[end]) != std::string_view::npos)
      return text.substr(at, end - at);
  }
  return {};
}

/// The words of "#combine(water mill)", which Indri ranks as it does without the operator.
std::string_view without_combine(std::string_view text) {
  constexpr std::string_view combine = "#combine(";
  if (!starts_with_ignoring_case(text, combine) || !text.ends_with(')')) return text;
  const std::string_view words = text.substr(combine.size(), text.size() - combine.size() - 1);
  return words.find_first_of("()") == words.npos ? trim(words) : text;
}

/// Assembles topics from tags and the text between them.
class TopicReader {
 public:
  TopicReader(std::string_view text, const TopicMarkup& markup, const QueryLayout& layout, std::string_view name,
              const QueryVisitor& visit, const TextRelease& release)
      : text_(text), markup_(markup), layout_(layout), name_(name), visit_(visit), release_(release) {
    layout_.id_field = in_lower_case(layout_.id_field);
    for (std::string& field : layout_.text_fields) {
      field = in_lower_case(field);
      if (field == markup.topic_tag) field = directly;
    }
    query_tags_ = usual_query_tags();
    if (layout.text_fields.empty()) return;
    query_tags_.clear();
    for (const std::string& field : layout_.text_fields) query_tags_.push_back({{field}, true});
  }

  void read() {
    TopicTags tags(text_, release_);
    SgmlTag tag;
    for (std::size_t at = 0; tags.next(at, tag); at = tag.end) {
      add_to_field(tag.begin);
      text_begin_ = tag.end;
      take(tag);
    }
    add_to_field(text_.size());
    close_field();
    if (inside_ && has_closed_topics_)
      fail("has no </" + std::string(markup_.topic_tag) +
           ">, which others have: the file seems truncated; complete it, or add the tag");
    finish_topic();
  }

 private:
  /// Where the text between tags goes: nowhere, to the id, or to those of query_tags_.
  static constexpr std::size_t nowhere = std::string_view::npos, to_id = nowhere - 1;
  static constexpr std::size_t max_named_tags = 10, max_containers = 64;

  /// A tag that may contain others, and what the topic had before it.
  struct Container {
    std::string tag;
    std::vector<bool> has_query;  ///< each of query_tags_
    bool has_id, has_tags;        ///< has_tags: others opened in it
  };

  void take(const SgmlTag& tag) {
    if (tag.name.empty()) return take_section(text_.substr(tag.begin, tag.end - tag.begin));
    if (is_one_of(tag.name, inline_tags)) return;
    if (is_one_of(tag.name, line_tags)) {
      if (open_ != nowhere) field_ += ' ';
      return;
    }
    close_field();
    const bool is_empty_element = text_.substr(0, tag.end).ends_with("/>");
    if (equals_ignoring_case(tag.name, markup_.topic_tag)) {
      has_closed_topics_ = has_closed_topics_ || (inside_ && tag.closing);
      finish_topic();
      if (tag.closing) return;
      start_topic(tag);
      if (is_empty_element) finish_topic();
    } else if (tag.closing) {
      leave(tag.name);
      open_directly();
    } else {
      enter(tag.name, is_empty_element);
      open_field(tag);
    }
  }

  /// Remembers what the topic has before a tag.
  void enter(std::string_view tag, bool is_empty_element) {
    if (!containers_.empty()) containers_.back().has_tags = true;
    if (!inside_ || is_empty_element || containers_.size() == max_containers) return;
    containers_.push_back({std::string(tag), {}, !id_.empty(), false});
    for (const std::optional<std::string>& query : queries_) containers_.back().has_query.push_back(query.has_value());
  }

  /// Closes a tag. What a tag with others in it gave is forgotten, unless tags are named: a subtopic's query isn't the
  /// topic's.
  void leave(std::string_view tag) {
    const auto found = std::find_if(containers_.rbegin(), containers_.rend(), [&](const Container& container) {
      return equals_ignoring_case(container.tag, tag);
    });
    if (found == containers_.rend()) return;
    if (found->has_tags) {
      if (!found->has_id && layout_.id_field.empty()) id_.clear();
      for (std::size_t i = 0; i < queries_.size() && !names_tags(); ++i)
        if (!found->has_query[i]) queries_[i].reset();
    }
    containers_.erase(std::prev(found.base()), containers_.end());
  }

  void start_topic(const SgmlTag& tag) {
    inside_ = true;
    begin_ = tag.begin;
    queries_.assign(query_tags_.size(), std::nullopt);
    tags_.clear();
    containers_.clear();
    has_unknown_tags_ = has_id_tag_ = false;
    id_.clear();
    const std::string_view attributes = in_utf8(tag.attributes);
    if (!layout_.id_field.empty()) {
      id_ = attribute_text(attributes, layout_.id_field);
    } else {
      for (const std::string_view attribute : id_attributes)
        if (id_.empty()) id_ = attribute_text(attributes, attribute);
    }
    open_directly();
  }

  bool is_id(std::string_view tag) const {
    return layout_.id_field.empty() ? is_one_of(tag, id_tags) : equals_ignoring_case(tag, layout_.id_field);
  }

  void open_directly() {
    if (inside_) open_query(directly);
  }

  void open_field(const SgmlTag& tag) {
    if (is_id(tag.name)) {
      // A second <num> means that </top> and <top> are missing between two topics.
      const bool may_begin_topic = markup_.format == QueryFormat::trec && equals_ignoring_case(tag.name, "num");
      if (may_begin_topic && has_id_tag_) finish_topic();
      if (may_begin_topic && !inside_) start_topic(tag);
      has_id_tag_ = inside_;
      open_ = inside_ ? to_id : nowhere;
    } else if (inside_) {
      if (!open_query(tag.name)) has_unknown_tags_ = true;
      if (tags_.size() < max_named_tags) tags_.push_back(quoted_start(tag.name));
    }
  }

  /// Whether the user named the tags of the query: then all of them are used, in the order of the names.
  bool names_tags() const { return !layout_.text_fields.empty(); }

  /// Opens the query that a tag contains, unless the topic has one of at least its priority. False for other tags.
  bool open_query(std::string_view tag) {
    for (std::size_t i = 0; i < query_tags_.size(); ++i) {
      const QueryTags& known = query_tags_[i];
      const bool found = std::any_of(known.tags.begin(), known.tags.end(), [&](std::string_view name) {
        return name.empty() || tag.empty() ? name == tag : is_called(tag, name);
      });
      if (!found) continue;
      if (names_tags() || !is_decided(known.joins ? i : i + 1)) open_ = i;
      return true;
    }
    return false;
  }

  /// Whether the query is known to be one of the first `count` of query_tags_.
  bool is_decided(std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i)
      if (queries_[i] && !query_tags_[i].is_whole_topic) return true;
    return false;
  }

  /// Appends the text up to `end`, with references resolved.
  void add_to_field(std::size_t end) {
    if (open_ == nowhere) return;
    check_field(end - text_begin_);
    append_without_references(in_utf8(text_.substr(text_begin_, end - text_begin_)), field_);
  }

  /// `more` is the number of bytes to add to the open field.
  void check_field(std::size_t more) const {
    if (field_.size() + more <= layout_.max_written_bytes()) return;
    fail("has a field of more than " + beyond_limit(layout_, layout_.max_written_bytes()));
  }

  /// Throws CorruptFile with the topic's line.
  [[noreturn]] void fail(const std::string& why) const {
    fail_at_line(name_, line_number_at(text_, begin_, release_), "the topic that begins here " + why);
  }

  /// Handles sections without a name: XML's declaration may name an encoding, and CDATA is text; comments and other
  /// declarations are ignored.
  void take_section(std::string_view section) {
    if (section.starts_with("<?xml ")) charset_ = sgml_attribute(section, "encoding");
    if (open_ == nowhere || !section.starts_with(cdata_begin)) return;
    section.remove_prefix(cdata_begin.size());
    check_field(section.size());
    field_ += in_utf8(section.substr(0, section.rfind(cdata_end)));
  }

  /// Text of the file, converted from the encoding that the file declares; valid until the next call.
  std::string_view in_utf8(std::string_view text) {
    if (charset_.empty() || is_valid_utf8(text)) return text;
    CharsetConverter converter(charset_);
    if (!converter.converts()) return text;
    converted_.clear();
    converter.append(text, converted_);
    converter.finish(converted_);
    return converted_;
  }

  void close_field() {
    const std::size_t open = std::exchange(open_, nowhere);
    if (open == nowhere) return;
    std::string text = with_single_spaces(field_);
    field_.clear();
    if (markup_.format == QueryFormat::trec) text = without_label(text);
    if (open == to_id) {
      if (id_.empty()) id_ = std::move(text);
      return;
    }
    std::optional<std::string>& query = queries_[open];
    if (text.empty() && query_tags_[open].tags.front() == directly) return;
    if (query && !query->empty() && !text.empty()) *query += ' ';
    query = query.value_or("") + text;
  }

  void finish_topic() {
    if (!inside_) return;
    inside_ = has_id_tag_ = false;
    open_ = nowhere;
    field_.clear();
    if (id_.empty())
      fail(fmt::format("has no number; add one in <{}>, or name its tag or attribute with {}", id_tags[0],
                       option_name<"id-field">));
    visit_(id_, query());
  }

  /// The texts of all named tags.
  std::string joined_texts() const {
    std::string joined;
    for (const std::optional<std::string>& text : queries_)
      if (text && !text->empty()) joined += (joined.empty() ? "" : " ") + *text;
    return joined;
  }

  /// The topic's query.
  std::string_view query() {
    const auto has_text = [](const std::optional<std::string>& text) { return text.has_value(); };
    const auto found = std::find_if(queries_.begin(), queries_.end(), has_text);
    if (found == queries_.end()) refuse_without_query();
    const QueryTags& tags = query_tags_[static_cast<std::size_t>(found - queries_.begin())];
    const bool has_more = has_unknown_tags_ || std::any_of(found + 1, queries_.end(), has_text);
    if (tags.is_whole_topic && has_more) refuse_without_query();
    if (names_tags()) *found = joined_texts();
    if (markup_.topic_tag != "query" || tags.tags.front() != "text") return **found;
    const std::string_view words = without_combine(**found);
    std::string_view name = indri_operator(words);
    if (equals_ignoring_case(name, "#combine"))
      if (const auto inner = indri_operator(words.substr(words.find('(') + 1)); !inner.empty()) name = inner;
    if (!name.empty())
      fail(fmt::format("has the operator {} of Indri, which Quern does not read; write its words alone", name));
    return words;
  }

  [[noreturn]] void refuse_without_query() const {
    if (tags_.empty())
      fail(fmt::format("has no query: it is empty; add a <title>, or name the query's tag with {}",
                       option_name<"text-field">));
    std::string tags;
    for (const std::string& tag : tags_) tags += (tags.empty() ? "" : ", ") + tag;
    fail(fmt::format(
        "has no query in one of {}, but the tags {}; name the query's with {}",
        !names_tags() ? "the usual tags" : fmt::format("the named tags ({})", fmt::join(layout_.text_fields, ", ")),
        tags, option_name<"text-field">));
  }

  std::string_view text_;
  const TopicMarkup& markup_;
  QueryLayout layout_;  ///< names in lower case
  std::vector<QueryTags> query_tags_;
  std::string_view name_, charset_;
  const QueryVisitor& visit_;
  const TextRelease& release_;
  bool inside_ = false;
  bool has_closed_topics_ = false;
  std::size_t begin_ = 0;       ///< of the topic
  std::size_t text_begin_ = 0;  ///< of the text after the last tag
  std::size_t open_ = nowhere;
  std::string field_;  ///< text of the open field so far
  std::string converted_;
  std::string id_;
  std::vector<std::optional<std::string>> queries_;  ///< of each of query_tags_
  std::vector<std::string> tags_;                    ///< the topic's first ones, for messages
  std::vector<Container> containers_;                ///< tags of the topic that no other has closed
  bool has_unknown_tags_ = false, has_id_tag_ = false;
};

}  // namespace

const TopicMarkup* find_topic_markup(std::string_view bytes, QueryFormat format, const TextRelease& release) {
  if (format == QueryFormat::trec) return &trec_markup;
  if (format != QueryFormat::webtrack && format != QueryFormat::automatic) return nullptr;
  TopicTags tags(bytes, release);
  SgmlTag tag;
  for (std::size_t at = 0; tags.next(at, tag); at = tag.end) {
    for (const TopicMarkup& markup : topic_markups) {
      if (!equals_ignoring_case(tag.name, markup.topic_tag)) continue;
      if (markup.format == QueryFormat::trec && format == QueryFormat::automatic) return &trec_markup;
      if (markup.format == QueryFormat::webtrack) return &markup;
      if (markup.format == QueryFormat::automatic) return nullptr;
    }
  }
  return nullptr;
}

void for_each_topic(std::string_view bytes, const TopicMarkup& markup, const QueryLayout& layout, std::string_view name,
                    const QueryVisitor& visit, const TextRelease& release) {
  TopicReader(bytes, markup, layout, name, visit, release).read();
}

}  // namespace quern
