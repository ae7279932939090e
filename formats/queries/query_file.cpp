#include "quern/formats/queries/query_file.hpp"

#include <fmt/format.h>

#include "quern/formats/queries/json_queries.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/formats/tables/sparse_matrix.hpp"
#include "quern/text/json_reader.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// The parts of a line, as views.
struct LineParts {
  std::string_view id, weight, text;
};

bool split_at(char separator, std::string_view line, LineParts& parts) {
  const std::size_t at = line.find(separator);
  if (at == std::string_view::npos) return false;
  parts.id = trim(line.substr(0, at));
  parts.text = trim(line.substr(at + 1));
  return !parts.id.empty();
}

bool split_tab(std::string_view line, LineParts& parts) { return split_at('\t', line, parts); }
bool split_colon(std::string_view line, LineParts& parts) { return split_at(':', line, parts); }

bool split_weighted(std::string_view line, LineParts& parts) {
  LineParts inner;
  if (!split_colon(line, parts) || !split_colon(parts.text, inner)) return false;
  parts.weight = inner.id;
  parts.text = inner.text;
  return std::all_of(parts.weight.begin(), parts.weight.end(), [](char c) { return is_ascii_digit(c) || c == '.'; });
}

bool split_json(std::string_view line, LineParts& parts) {
  parts.text = trim(line);
  return parts.text.size() >= 2 && parts.text.front() == '{' && parts.text.back() == '}';
}

bool split_nothing(std::string_view line, LineParts& parts) {
  parts.text = trim(line);
  return true;
}

[[noreturn]] void refuse_long_line(std::string_view name, std::uint64_t number, const QueryLayout& layout) {
  fail_at_line(name, number, "is longer than " + beyond_limit(layout, layout.max_written_bytes()));
}

/// Reads the lines of a file that aren't blank. Refuses an overlong line before reading all of it.
class QueryLines {
 public:
  /// The layout must outlive the object.
  QueryLines(std::string_view text, const QueryLayout& layout, std::string_view name, const TextRelease& release)
      : layout_(layout), name_(name), lines_(text, release, layout.max_written_bytes()) {}

  bool next(std::string_view& line) {
    if (!lines_.next(line)) return false;
    if (lines_.is_cut()) refuse_long_line(name_, lines_.number(), layout_);
    return true;
  }
  std::uint64_t number() const { return lines_.number(); }

 private:
  const QueryLayout& layout_;
  std::string_view name_;
  LineReader lines_;
};

bool has_white_space(std::string_view text) { return std::any_of(text.begin(), text.end(), is_ascii_space); }

bool is_single_word(const LineParts& parts) { return !has_white_space(parts.id); }

/// "site:gov", "linux 2.6: how to" and "http://..." are queries: the IDs of logs contain digits and no blanks.
bool is_log_id(const LineParts& parts) {
  const auto allowed = [](char c) {
    return is_ascii_digit(c) || is_ascii_letter(c) || c == '-' || c == '_' || c == '.';
  };
  return std::any_of(parts.id.begin(), parts.id.end(), is_ascii_digit) &&
         std::all_of(parts.id.begin(), parts.id.end(), allowed);
}

/// Priorities are small; "8109:8109:the history" is an ID and a query that repeats it.
bool is_log_id_with_small_weight(const LineParts& parts) {
  return is_log_id(parts) && parts.weight.size() <= 3 && parts.weight.find('.') == std::string_view::npos;
}

bool is_anything(const LineParts&) { return true; }

/// A format with one query per line.
struct LineFormat {
  QueryFormat format;
  bool (*split)(std::string_view line, LineParts& parts);  ///< false if the line isn't in this format
  bool (*likely)(const LineParts& parts);                  ///< extra condition for detection
  std::string_view wanted;                                 ///< for messages
};

/// In the order that detection tries them, up to the one that fits every file.
constexpr LineFormat line_formats[] = {
    {QueryFormat::jsonl, split_json, is_anything, "a JSON object"},
    {QueryFormat::tsv, split_tab, is_single_word, "id<TAB>query"},
    {QueryFormat::weighted, split_weighted, is_log_id_with_small_weight, "id:weight:query, with a number as weight"},
    {QueryFormat::colon, split_colon, is_log_id, "id:query"},
    {QueryFormat::lines, split_nothing, is_anything, "a query"},
    {QueryFormat::vector, split_json, is_anything, "a JSON object"},
};
/// Line formats that detection tries: the last one must be named.
constexpr std::size_t num_detected_formats = std::size(line_formats) - 1;

bool fits(const LineFormat& format, std::string_view line) {
  LineParts parts;
  return format.split(line, parts) && format.likely(parts);
}

/// A file of 100 lines or more, of which at most one in 100 contradicts a format, is more likely damaged than in
/// another format: read as plain lines, every query would silently get a wrong ID.
bool nearly_all(std::uint64_t fitting, std::uint64_t lines) { return lines >= 100 && fitting * 100 >= lines * 99; }

/// Refuses runs and judgements: each of their lines would silently be a query. A single line may be one.
void refuse_rows(std::string_view text, const QueryLayout& layout, std::string_view name, const TextRelease& release) {
  std::uint64_t count = 0;
  std::string_view line, kind;
  for (LineReader lines(text, release, layout.max_written_bytes()); lines.next(line); ++count) {
    if (std::count(line.begin(), line.end(), '\t') == 1) return;  // an ID and a query
    const std::string_view found = kind_of_row(line);
    if (found.empty() || (count > 0 && found != kind)) return;
    kind = found;
  }
  if (count > 1)
    throw InvalidArgument(
        "{}: every line looks like one of {}; name a file of queries, or if every line is a query, use {} {}", name,
        kind, option_name<"queries-format">, name_of_value(query_formats, QueryFormat::lines));
}

/// The first format that fits all lines.
const LineFormat& detect_line_format(std::string_view text, const QueryLayout& layout, std::string_view name,
                                     const TextRelease& release) {
  refuse_rows(text, layout, name, release);
  std::uint64_t num_lines = 0, first_line = 0;
  std::uint64_t fitting[num_detected_formats] = {}, first_misfit[num_detected_formats] = {};
  std::ptrdiff_t fewest_tabs = std::numeric_limits<std::ptrdiff_t>::max();
  QueryLines lines(text, layout, name, release);
  for (std::string_view line; lines.next(line); ++num_lines) {
    const std::string_view columns = trim(line);
    if (num_lines == 0) first_line = lines.number();
    fewest_tabs = std::min(fewest_tabs, std::count(columns.begin(), columns.end(), '\t'));
    for (std::size_t i = 0; i < num_detected_formats; ++i)
      if (fits(line_formats[i], line))
        ++fitting[i];
      else if (first_misfit[i] == 0)
        first_misfit[i] = lines.number();
  }
  std::size_t i = 0;
  for (; fitting[i] != num_lines; ++i) {
    // Plain text doesn't begin with a whole JSON object.
    const bool begins_as_json = line_formats[i].format == QueryFormat::jsonl && first_misfit[i] > first_line;
    if (!begins_as_json && !nearly_all(fitting[i], num_lines)) continue;
    throw InvalidArgument(
        "{}, line {}: is not {}, as other lines are; correct the line, or name the file's format with {}", name,
        first_misfit[i], line_formats[i].wanted, option_name<"queries-format">);
  }
  const QueryFormat found = line_formats[i].format;
  const int expected_tabs = found == QueryFormat::tsv ? 1 : 0;
  if ((found == QueryFormat::tsv || found == QueryFormat::lines) && num_lines > 0 && fewest_tabs > expected_tabs)
    throw InvalidArgument(
        "{}: every line has columns between tabs, but not id<TAB>query alone; remove the others, or if they are a part "
        "of the query, use {} {}",
        name, option_name<"queries-format">, name_of_value(query_formats, found));
  return line_formats[i];
}

/// Reads queries in a format with one per line.
class LineQueries {
 public:
  /// The layout must outlive the object. Throws InvalidArgument for fields of a format that has none.
  LineQueries(const LineFormat& format, const QueryLayout& layout, std::string_view name)
      : format_(format), name_(name), json_(layout, name) {
    if (layout.names_fields() && !is_json())
      throw InvalidArgument(
          "{}: is in the format {}, which has no fields; {} and {} name keys of JSON objects and tags", name,
          name_of_value(query_formats, format.format), option_name<"id-field">, option_name<"text-field">);
  }

  /// The query of a line that isn't blank; its ID and text are valid until the next call.
  LineParts read(std::string_view line, std::uint64_t number) {
    LineParts parts;
    if (!format_.split(line, parts)) fail_at_line(name_, number, "is not " + std::string(format_.wanted));
    ++num_queries_;
    if (is_json()) {
      const JsonQueries::Parts query = json_.read(parts.text, number);
      return {query.id, {}, query.text};
    }
    if (format_.format == QueryFormat::lines) {
      own_id_ = std::to_string(num_queries_);
      parts.id = own_id_;
    }
    return parts;
  }

  const LineFormat& format() const { return format_; }
  bool is_json() const { return format_.split == split_json; }

 private:
  const LineFormat& format_;
  std::string_view name_;
  JsonQueries json_;
  std::uint64_t num_queries_ = 0;
  std::string own_id_;
};

constexpr std::string_view id_columns[] = {"id", "qid", "number", "num", "topic"};
constexpr std::string_view text_columns[] = {"query", "text", "title", "question", "content", "description"};

/// Whether a column or key has one of `names`, or ends with it, like "query_id".
bool is_named(std::string_view column, std::span<const std::string_view> names) {
  column.remove_prefix(column.find_last_of("_-.") + 1);  // npos + 1 is 0
  return std::any_of(names.begin(), names.end(),
                     [column](std::string_view name) { return equals_ignoring_case(column, name); });
}

/// Whether the first line of a TSV file names its columns, as pandas writes them.
bool is_heading(const LineFormat& format, std::string_view line) {
  LineParts columns;
  return format.format == QueryFormat::tsv && format.split(line, columns) && is_named(columns.id, id_columns) &&
         is_named(columns.text, text_columns);
}

void for_each_line(std::string_view text, LineQueries& queries, const QueryLayout& layout, std::string_view name,
                   const QueryVisitor& visit, const TextRelease& release) {
  QueryLines lines(text, layout, name, release);
  bool is_first = true;
  for (std::string_view line; lines.next(line);) {
    if (std::exchange(is_first, false) && is_heading(queries.format(), line)) continue;
    const LineParts query = queries.read(line, lines.number());
    visit(query.id, query.text);
  }
}

/// Visits the queries of a JSON array of objects.
void for_each_element(std::string_view text, LineQueries& queries, const QueryLayout& layout, std::string_view name,
                      const QueryVisitor& visit, const TextRelease& release) {
  ViewPieces whole(text);
  SlicedPieces pieces(whole);
  JsonReader reader(pieces);
  ReleasedText released(text, release);
  std::uint64_t line = 1;
  std::size_t end = 0;  // of the previous element
  try {
    for (bool more = reader.begin('['); more; more = reader.next_member('[')) {
      reader.peek();
      const std::size_t begin = reader.offset();
      line += static_cast<std::uint64_t>(std::count(text.begin() + end, text.begin() + begin, '\n'));
      reader.skip_value();
      end = begin;
      const std::string_view element = text.substr(begin, reader.offset() - begin);
      if (element.size() > layout.max_written_bytes()) refuse_long_line(name, line, layout);
      const LineParts query = queries.read(element, line);
      visit(query.id, query.text);
      released.advance_to(begin);
    }
    if (reader.peek() != JsonReader::end) throw JsonDamage("more text after it");
  } catch (const JsonDamage& damage) {
    fail_at_line(name, line_number_at(text, reader.offset(), release),
                 fmt::format("is not a JSON array of queries: {}; name another format with {}", damage.what(),
                             option_name<"queries-format">));
  }
}

/// The line format; null for formats of other kinds.
const LineFormat* line_format_of(QueryFormat format) {
  const auto found = std::find_if(std::begin(line_formats), std::end(line_formats),
                                  [format](const LineFormat& candidate) { return candidate.format == format; });
  return found == std::end(line_formats) ? nullptr : found;
}

/// The first character that isn't white space; 0 if there is none.
char first_character(std::string_view text) {
  const auto found = std::find_if_not(text.begin(), text.end(), is_ascii_space);
  return found == text.end() ? '\0' : *found;
}

/// Whether a line of YAML begins an object or a list: "- id: 1", "queries:".
bool is_yaml(std::string_view line) {
  const bool is_item = line.starts_with("- ");
  if (is_item) line = trim(line.substr(2));
  LineParts member;
  if (!split_colon(line, member)) return line == "---";
  const std::string_view key = member.id;
  const bool is_known = is_named(key, id_columns) || is_named(key, text_columns) || key == "queries" || key == "topics";
  return (is_item || is_known) && is_single_word(member) && (line.ends_with(':') || line[line.find(':') + 1] == ' ');
}

/// The kind of a file whose records end with a line "/", like NPL's, or whose lines all begin with numbers, like
/// Terrier's; empty for others.
std::string_view kind_of_records(std::string_view text, const TextRelease& release) {
  constexpr std::uint64_t first_lines = 100;
  bool are_numbered = true;
  std::uint64_t count = 0;
  std::string_view line, previous;
  for (LineReader lines(text, release); (are_numbered || count < first_lines) && lines.next(line); ++count) {
    if (trim(line) == "/") return "records that end with /, like NPL's";
    const std::string_view number = next_word(line);
    are_numbered = are_numbered && !trim(line).empty() && number != std::exchange(previous, number) &&
                   std::all_of(number.begin(), number.end(), is_ascii_digit);
  }
  return are_numbered && count > 1 ? "lines \"id query\"; id<TAB>query and id:query are read" : "";
}

/// Refuses a file that `auto` would read as lines, although it looks like markup: each of its lines would silently be a
/// query.
void refuse_markup(std::string_view text, std::string_view name, const TextRelease& release) {
  std::string_view line;
  LineReader lines(text, release);
  if (!lines.next(line)) return;
  line = trim(line);
  const char first = line.front();
  std::string_view kind = kind_of_records(text, release);
  if (is_yaml(line)) kind = "YAML";
  if (first == '<') kind = "markup without topics in <top>, <topic> or <query>";
  if (first == '{') kind = "JSON with more than a line per object; one per line or an array of objects are read";
  if (starts_with_ignoring_case(line, ".i ") || starts_with_ignoring_case(line, ".i\t"))
    kind = "text of SMART, like CACM's";
  if (name.find(".csv") != std::string_view::npos) kind = "comma-separated values; id<TAB>query is read";
  const TopicMarkup* markup = kind.empty() ? find_topic_markup(text, QueryFormat::automatic, release) : nullptr;
  if (markup != nullptr && (markup->format == QueryFormat::trec || markup->topic_tag == "topic"))
    kind = "text before topics";
  if (!kind.empty())
    throw InvalidArgument("{}, line {}: begins with {}, like {}; convert it, or if every line is a query, use {} lines",
                          name, lines.number(), quoted_start(line), kind, option_name<"queries-format">);
}

[[noreturn]] void refuse_zero_byte(std::string_view name, std::uint64_t line) {
  fail_at_line(name, line, "contains a zero byte: it is not a text file, or is in UTF-16; convert it to UTF-8 first");
}

void check_is_text(std::string_view bytes, std::string_view name, const TextRelease& release) {
  constexpr std::size_t at_once = std::size_t{1} << 20;
  ReleasedText released(bytes, release);
  std::size_t zero = std::string_view::npos;
  for (std::size_t from = 0; from < bytes.size() && zero == std::string_view::npos; from += at_once) {
    released.advance_to(from);
    const std::size_t found = bytes.substr(from, at_once).find('\0');
    if (found != std::string_view::npos) zero = from + found;
  }
  if (zero != std::string_view::npos) refuse_zero_byte(name, line_number_at(bytes, zero, release));
}

/// `number` is the query's number in the file, from 1.
void check_size(std::string_view name, std::uint64_t number, const LineParts& query, const QueryLayout& layout) {
  if (query.text.size() <= layout.max_bytes && query.id.size() <= layout.max_bytes) return;
  throw CorruptFile("{}: query {}, with the id \"{}\", is longer than {}", name, number, query.id.substr(0, 40),
                    beyond_limit(layout, layout.max_bytes));
}

/// Visits the rows of a matrix.
QueryFormat for_each_row(std::string_view bytes, const QueryLayout& layout, std::string_view name,
                         const QueryVisitor& visit) {
  if (layout.format != QueryFormat::vector)
    throw InvalidArgument("{}: is a sparse matrix, whose rows are weighted queries; read it with {} vector", name,
                          option_name<"queries-format">);
  LineQueries reader(*line_format_of(QueryFormat::vector), layout, name);
  const std::uint64_t max_bytes = layout.max_written_bytes();
  for_each_matrix_line(bytes, std::string(name), max_bytes, [&](std::string_view line, std::uint64_t number) {
    if (line.size() > max_bytes) refuse_long_line(name, number, layout);
    const LineParts query = reader.read(line, number);
    check_size(name, number, query, layout);
    visit(query.id, query.text);
  });
  return QueryFormat::vector;
}

}  // namespace

QueryFormat for_each_query(std::string_view bytes, const QueryLayout& layout, std::string_view name,
                           const QueryVisitor& visit, const TextRelease& release) {
  if (read_matrix_header(bytes)) return for_each_row(bytes, layout, name, visit);
  check_is_text(bytes, name, release);
  const std::string_view text = without_byte_order_mark(bytes);
  const char first = first_character(text);
  const bool automatic = layout.format == QueryFormat::automatic;
  QueryLayout found = layout;
  const TopicMarkup* markup = automatic && first != '<' ? nullptr : find_topic_markup(text, layout.format, release);
  if (markup != nullptr) found.format = markup->format;
  if (automatic && markup == nullptr)
    found.format = first == '[' ? QueryFormat::jsonl : detect_line_format(text, layout, name, release).format;
  if (automatic && found.format == QueryFormat::lines) refuse_markup(text, name, release);
  if (automatic && found.format == QueryFormat::tsv && first == '"')
    throw InvalidArgument(
        "{}: has columns in quotation marks; id<TAB>query is read without them: remove them, or use {} tsv", name,
        option_name<"queries-format">);

  std::uint64_t queries = 0;
  const QueryVisitor visit_query = [&](std::string_view id, std::string_view query) {
    check_size(name, ++queries, {id, {}, query}, layout);
    visit(id, query);
  };
  if (markup != nullptr) {
    for_each_topic(text, *markup, found, name, visit_query, release);
  } else if (const LineFormat* lines = line_format_of(found.format); lines != nullptr) {
    LineQueries reader(*lines, found, name);
    (first == '[' && reader.is_json() ? for_each_element : for_each_line)(text, reader, found, name, visit_query,
                                                                          release);
  }
  if (queries == 0 && first == '\0')
    throw InvalidArgument("{}: contains no queries: it is empty{}", name, text.empty() ? "" : ", or blank");
  if (queries == 0) {
    throw InvalidArgument("{}: contains no queries (read as {}); name another format with {}", name,
                          name_of_value(query_formats, found.format), option_name<"queries-format">);
  }
  return found.format;
}

std::string beyond_limit(const QueryLayout& layout, std::uint64_t bytes) {
  if (layout.max_bytes == max_query_bytes) return size_text(bytes) + "; is this a file of queries?";
  return fmt::format("{}, the limit in this memory; is this a file of queries? If so, raise {}", size_text(bytes),
                     option_name<"memory">);
}

QueryFile parse_queries(std::string_view bytes, const QueryLayout& layout, std::string_view name) {
  QueryFile file;
  file.format = for_each_query(bytes, layout, name, [&](std::string_view id, std::string_view text) {
    file.queries.push_back({std::string(id), std::string(text)});
  });
  return file;
}

QueryFile read_queries(const std::string& path, const QueryLayout& layout) {
  return parse_queries(read_whole(path, query_file_limits()), layout, source_name(path));
}

struct QueryLineParser::State {
  State(const LineFormat& format, QueryLayout how, std::string stream)
      : name(std::move(stream)), layout(std::move(how)), queries(format, layout, name) {}

  const std::string name;
  const QueryLayout layout;
  LineQueries queries;
  std::uint64_t lines = 0;
};

QueryLineParser::QueryLineParser(QueryLayout layout, std::string name) {
  const LineFormat* line_format = line_format_of(layout.format);
  if (line_format == nullptr) {
    std::string message = name + ": queries that arrive over time need a format with one query per line; use one of";
    for (const LineFormat& known : line_formats)
      message += fmt::format(" {} {},", option_name<"queries-format">, name_of_value(query_formats, known.format));
    message.back() = ' ';
    throw InvalidArgument(message + "(not " + std::string(name_of_value(query_formats, layout.format)) + ")");
  }
  state_ = std::make_unique<State>(*line_format, std::move(layout), std::move(name));
}
QueryLineParser::QueryLineParser(QueryLineParser&&) noexcept = default;
QueryLineParser::~QueryLineParser() = default;

std::uint64_t QueryLineParser::max_line_bytes() const { return state_->layout.max_written_bytes(); }

std::optional<Query> QueryLineParser::next(std::string_view line) {
  if (++state_->lines == 1) line = without_byte_order_mark(line);
  if (line.size() > max_line_bytes()) refuse_long_line(state_->name, state_->lines, state_->layout);
  if (line.find('\0') != std::string_view::npos) refuse_zero_byte(state_->name, state_->lines);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (trim(line).empty()) return std::nullopt;
  const LineParts query = state_->queries.read(line, state_->lines);
  check_size(state_->name, state_->lines, query, state_->layout);
  return Query{std::string(query.id), std::string(query.text)};
}

}  // namespace quern
