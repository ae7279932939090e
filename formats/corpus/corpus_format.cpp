#include "quern/formats/corpus/corpus_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "quern/core/named.hpp"
#include "quern/formats/container.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/text/utf8.hpp"

namespace quern {

namespace {

/// Files that Quern can't read, with a remedy. Their first bytes could also be those of binary files that it reads.
struct UnreadableFormat {
  std::string_view magic;
  std::string_view message;
};
constexpr UnreadableFormat unreadable_formats[] = {
    {"\x93NUMPY",
     "a NumPy array (.npy), which Quern can't read; in Python, quern.index() takes sparse matrices of SciPy"},
    {"filedesc://", "an ARC file, which Quern can't read; convert it to WARC first"},
    {"\x1f\x1e", "compressed with pack, which Quern can't read; unpack it first, for example with gzip -d"},
    {"\x1f\xa0", "compressed with compress -H, which Quern can't read; unpack it first, for example with gzip -d"},
    {{"]\0\0", 3}, "compressed with lzma, which Quern can't read; unpack it first, for example with unlzma"},
    {"\xff\xfe", "text in UTF-16, which Quern can't read; convert it to UTF-8 first, for example with iconv"},
    {"\xfe\xff", "text in UTF-16, which Quern can't read; convert it to UTF-8 first, for example with iconv"},
};

/// Lines read in pieces, without leading white space.
class ExtractedLines {
 public:
  explicit ExtractedLines(DocumentText& out) : out_(out) {}

  void append(std::string_view text) {
    while (!text.empty()) {
      if (at_line_begin_) {
        while (!text.empty() && is_ascii_space(text.front())) text.remove_prefix(1);
        if (text.empty()) return;
        at_line_begin_ = false;
        if (place_ == Place::behind_title) put_title();
      }
      const std::size_t end = std::min(text.find('\n'), text.size());
      append_to_line(text.substr(0, end));
      if (end == text.size()) return;
      text.remove_prefix(end + 1);
      end_line();
    }
  }
  void finish() {
    if (place_ != Place::body) out_.body += first_;
  }

 private:
  enum class Place {
    first_line,    ///< stored in first_
    behind_title,  ///< the first line is a title if text follows
    body
  };

  void append_to_line(std::string_view text) {
    if (place_ == Place::first_line && first_.size() + text.size() <= max_extracted_title_bytes) {
      first_ += text;
      return;
    }
    if (place_ == Place::first_line) {
      out_.body += first_;
      place_ = Place::body;
    }
    out_.body += text;
  }
  void end_line() {
    at_line_begin_ = true;
    if (place_ == Place::first_line)
      place_ = Place::behind_title;
    else
      end_phrase(out_.body);
  }
  void put_title() {
    out_.title += trim(first_);
    place_ = Place::body;
  }

  DocumentText& out_;
  Place place_ = Place::first_line;
  bool at_line_begin_ = true;
  std::string first_;
};

}  // namespace

const std::vector<const CorpusFormat*>& all_corpus_formats() {
  // A TRECWEB file would also pass as TRECTEXT, so it is tried first.
  static const std::vector<const CorpusFormat*> formats = {&trecweb_format, &trectext_format, &warc_format,
                                                           &jsonl_format, &tsv_format};
  return formats;
}

const CorpusFormat& corpus_format_named(std::string_view name) {
  return find_named(all_corpus_formats(), name, "corpus format");
}

const CorpusFormat* find_corpus_format(std::string_view head) {
  for (const CorpusFormat* format : all_corpus_formats())
    if (format->detect(head)) return format;
  return nullptr;
}

std::string why_no_corpus(std::string_view head) {
  if (std::string form = unreadable_form(as_bytes(head)); !form.empty()) return form;
  if (find_corpus_format(head) != nullptr) return {};
  if (const std::string_view kind = kind_of_head(head); !kind.empty())
    return fmt::format("a Quern {}, not a corpus; name the documents that it was made from", kind);
  for (const UnreadableFormat& format : unreadable_formats)
    if (head.starts_with(format.magic)) return std::string(format.message);
  return fmt::format("of no known corpus format ({}); name its format with {}, or exclude the file",
                     fmt::join(names_of(all_corpus_formats()), ", "), option_name<"format">);
}

std::string without_text(const CorpusFormat& format, const RecordScratch& scratch, std::string_view predicate) {
  return "it has no text " + format.text_place(scratch) +
         (scratch.unread.empty() ? "" : "; " + scratch.unread.sentence(format.unread_part, predicate)) +
         (scratch.unread.has("vector") ? fmt::format("; {} N indexes the weights of a vector", option_name<"impacts">)
                                       : "");
}

void read_extracted_text(PieceSource& text, RecordScratch& scratch, DocumentText& out) {
  ExtractedLines lines(out);
  for_each_repaired(text, "utf-8", scratch, [&](std::string_view piece) { lines.append(piece); });
  lines.finish();
}

namespace {

struct KnownKey {
  const char* name;
  JsonField field;
};
/// The first key present counts for each field.
constexpr KnownKey known_keys[] = {
    {"id", JsonField::docno},      {"_id", JsonField::docno},    {"docno", JsonField::docno},
    {"docid", JsonField::docno},   {"doc_id", JsonField::docno}, {"title", JsonField::title},
    {"contents", JsonField::text}, {"text", JsonField::text},    {"content", JsonField::text},
    {"body", JsonField::text},     {"url", JsonField::url}};

/// In the order of named_fields.
constexpr JsonField all_fields[] = {JsonField::docno, JsonField::title, JsonField::text, JsonField::url,
                                    JsonField::weights};
static_assert(std::size(all_fields) == std::size(named_fields) && std::size(all_fields) == json_fields);

/// The name given for a field; empty for the known keys. The weights always have a name.
std::string_view name_of(JsonField field, const FieldNames& names, bool with_weights) {
  const std::string& name = names.*named_fields[static_cast<std::size_t>(field)].member;
  if (field != JsonField::weights) return name;
  if (!with_weights) return {};
  return name.empty() ? std::string_view("vector") : name;
}

/// Names that filters and results use for these fields, whatever the corpus calls them.
bool is_standard_field(std::string_view name) {
  return name == "docno" || name == "url" || name == "title" || name == "text" || name == "score" || name == "rank";
}

}  // namespace

JsonKeys::JsonKeys(const FieldNames& names, bool with_weights) {
  for (const JsonField field : all_fields) {
    const std::string name(name_of(field, names, with_weights));
    if (name.empty()) continue;
    if (find(name))
      throw InvalidArgument("'" + name + "' can't be the key of two fields; choose another key for one of them");
    keys_.push_back({name, field, 0});
  }
  for (const JsonField field : all_fields) {
    if (!name_of(field, names, with_weights).empty()) continue;
    unsigned rank = 0;
    for (const KnownKey& key : known_keys)
      if (key.field == field && !find(key.name)) keys_.push_back({key.name, field, rank++});
  }
  keep(names.kept);
}

void JsonKeys::keep(const std::vector<std::string>& names) {
  if (names.size() > max_kept_fields)
    throw InvalidArgument("{} fields can't be kept; the limit is {}", names.size(), max_kept_fields);
  for (const std::string& name : names) {
    if (!is_kept_name(name))
      throw InvalidArgument("'" + name + "' can't be the name of a kept field: names have 1 to " +
                            std::to_string(max_kept_name_bytes) +
                            " letters, digits, _, - or ., and can't be filter words (and, or, not, in, has)");
    if (find(name) || is_standard_field(name))
      throw InvalidArgument("'" + name + "' can't be kept: it is a standard field or the key of one");
    if (std::find(kept_.begin(), kept_.end(), name) != kept_.end())
      throw InvalidArgument("'" + name + "' can't be kept twice");
    kept_.push_back(name);
  }
}

std::optional<std::size_t> JsonKeys::find(std::string_view name) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const JsonKey& key) { return key.name == name; });
  if (found == keys_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - keys_.begin());
}

std::string JsonKeys::names_of(JsonField field, std::string_view last_separator) const {
  std::vector<std::string_view> names;
  for (const JsonKey& key : keys_)
    if (key.field == field) names.push_back(key.name);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : last_separator;
    text += names[i];
  }
  return text;
}

std::size_t JsonKeys::longest_name() const {
  std::size_t longest = 0;
  for (const JsonKey& key : keys_) longest = std::max(longest, key.name.size());
  for (const std::string& name : kept_) longest = std::max(longest, name.size());
  return longest;
}

bool UnreadNames::has(std::string_view name) const {
  const auto listed = names_.begin() + static_cast<std::ptrdiff_t>(std::min(count_, max_names));
  return std::find(names_.begin(), listed, name) != listed;
}

void UnreadNames::add(std::string_view name) {
  name = name.substr(0, max_name_bytes + 1);
  if (has(name)) return;
  if (count_ < max_names) names_[count_] = name;
  count_ = std::min(count_ + 1, max_names + 1);
}

std::string UnreadNames::sentence(std::string_view singular, std::string_view predicate) const {
  std::string names;
  for (std::size_t i = 0; i < std::min(count_, max_names); ++i)
    names += (i == 0 ? "" : ", ") + quoted_start(names_[i], max_name_bytes);
  return fmt::format("its {}{} {}{} {} {}", singular, count_ == 1 ? "" : "s", names,
                     count_ > max_names ? " and others" : "", count_ == 1 ? "is" : "are", predicate);
}

}  // namespace quern
