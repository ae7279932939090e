#include "quern/formats/queries/query_file.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <new>

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

[[noreturn]] void refuse_long_line(std::string_view name, std::uint64_t number) {
  fail_at_line(name, number, "is longer than " + size_text(max_written_bytes) + "; is this a file of queries?");
}

/// Reads the lines of a file that aren't blank. Refuses an overlong line before reading all of it.
class QueryLines {
 public:
  QueryLines(std::string_view text, std::string_view name, const TextRelease& release)
      : name_(name), lines_(text, release, max_written_bytes) {}

  bool next(std::string_view& line) {
    if (!lines_.next(line)) return false;
    if (lines_.is_cut()) refuse_long_line(name_, lines_.number());
    return true;
  }
  std::uint64_t number() const { return lines_.number(); }

 private:
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

/// The first format that fits all lines.
const LineFormat& detect_line_format(std::string_view text, std::string_view name, const TextRelease& release) {
  std::uint64_t num_lines = 0;
  std::uint64_t fitting[num_detected_formats] = {}, first_misfit[num_detected_formats] = {};
  QueryLines lines(text, name, release);
  for (std::string_view line; lines.next(line); ++num_lines) {
    for (std::size_t i = 0; i < num_detected_formats; ++i)
      if (fits(line_formats[i], line))
        ++fitting[i];
      else if (first_misfit[i] == 0)
        first_misfit[i] = lines.number();
  }
  std::size_t i = 0;
  for (; fitting[i] != num_lines; ++i) {
    if (!nearly_all(fitting[i], num_lines)) continue;
    throw InvalidArgument(
        "{}, line {}: is not {}, as nearly all other lines are; correct the line, or name the file's format with {}",
        name, first_misfit[i], line_formats[i].wanted, option_name<"queries-format">);
  }
  return line_formats[i];
}

/// The object's value for the first of `keys` that it contains.
simdjson::simdjson_result<simdjson::dom::element> first_of(const simdjson::dom::object& object,
                                                           std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    simdjson::dom::element value;
    if (object.at_key(key).get(value) == simdjson::SUCCESS) return value;
  }
  return simdjson::NO_SUCH_FIELD;
}

/// Reads queries from JSON objects, one per line.
class JsonQueries {
 public:
  explicit JsonQueries(std::string_view name) : name_(name) {}

  /// The query's ID and text, valid until the next call.
  LineParts read(std::string_view line, std::uint64_t number) {
    const simdjson::dom::object object = parse(line, number);
    LineParts query;
    query.id = id_of(object, number);
    std::string_view text;
    if (first_of(object, {"text", "query", "title"}).get(text)) {
      const bool has_vector = object.at_key("vector").error() == simdjson::SUCCESS;
      std::string problem = "has no \"text\"";
      if (has_vector)
        problem += fmt::format(", but has a \"vector\"; read it with {} vector", option_name<"queries-format">);
      fail_at_line(name_, number, problem);
    }
    query.text = trim(text);
    return query;
  }

  /// The ID and text of a weighted query; its text is the JSON object of weights.
  LineParts read_vector(std::string_view line, std::uint64_t number) {
    const simdjson::dom::object object = parse(line, number);
    LineParts query;
    query.id = id_of(object, number);
    simdjson::dom::element vector;
    if (object.at_key("vector").get(vector)) fail_at_line(name_, number, "has no \"vector\"");
    vector_ = simdjson::minify(vector);
    try {
      parse_query_vector(vector_, "its \"vector\"");
    } catch (const InvalidArgument& wrong) {
      fail_at_line(name_, number, wrong.what());
    }
    query.text = vector_;
    return query;
  }

 private:
  simdjson::dom::object parse(std::string_view line, std::uint64_t number) {
    simdjson::dom::object object;
    const auto error = parser_.parse(line.data(), line.size(), true).get(object);
    if (error == simdjson::MEMALLOC) throw std::bad_alloc();
    if (error) fail_at_line(name_, number, std::string("is not a JSON object: ") + simdjson::error_message(error));
    return object;
  }

  std::string_view id_of(const simdjson::dom::object& object, std::uint64_t number) {
    simdjson::dom::element id;
    std::string_view text;
    if (first_of(object, {"_id", "id", "qid", "query_id"}).get(id)) fail_at_line(name_, number, "has no \"_id\"");
    if (id.get(text) == simdjson::SUCCESS) {
      text = trim(text);
    } else if (id.is_int64() || id.is_uint64()) {
      number_id_ = simdjson::minify(id);
      text = number_id_;
    }
    if (text.empty()) fail_at_line(name_, number, "its \"_id\" is neither a string nor an integer");
    return text;
  }

  std::string_view name_;
  std::string number_id_, vector_;
  simdjson::dom::parser parser_;
};

/// Reads queries in a format with one per line.
class LineQueries {
 public:
  LineQueries(const LineFormat& format, std::string_view name) : format_(format), name_(name), json_(name) {}

  /// The query of a line that isn't blank; its ID and text are valid until the next call.
  LineParts read(std::string_view line, std::uint64_t number) {
    LineParts parts;
    if (!format_.split(line, parts)) fail_at_line(name_, number, "is not " + std::string(format_.wanted));
    ++num_queries_;
    if (format_.format == QueryFormat::jsonl) return json_.read(parts.text, number);
    if (format_.format == QueryFormat::vector) return json_.read_vector(parts.text, number);
    if (format_.format == QueryFormat::lines) {
      own_id_ = std::to_string(num_queries_);
      parts.id = own_id_;
    }
    return parts;
  }

 private:
  const LineFormat& format_;
  std::string_view name_;
  JsonQueries json_;
  std::uint64_t num_queries_ = 0;
  std::string own_id_;
};

void for_each_line(std::string_view text, const LineFormat& format, std::string_view name, const QueryVisitor& visit,
                   const TextRelease& release) {
  LineQueries queries(format, name);
  QueryLines lines(text, name, release);
  for (std::string_view line; lines.next(line);) {
    const LineParts query = queries.read(line, lines.number());
    visit(query.id, query.text);
  }
}

/// The markup of a topic format; null for other formats.
const TopicMarkup* markup_of(QueryFormat format) {
  for (const TopicMarkup* markup : {&trec_markup(), &webtrack_markup()})
    if (format == markup->format) return markup;
  return nullptr;
}

/// The line format; null for formats of other kinds.
const LineFormat* line_format_of(QueryFormat format) {
  const auto found = std::find_if(std::begin(line_formats), std::end(line_formats),
                                  [format](const LineFormat& candidate) { return candidate.format == format; });
  return found == std::end(line_formats) ? nullptr : found;
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
void check_size(std::string_view name, std::uint64_t number, std::string_view id, std::string_view text) {
  if (text.size() <= max_query_bytes && id.size() <= max_query_bytes) return;
  throw CorruptFile("{}: query {}, with the id \"{}\", is longer than {}; is this a file of queries?", name, number,
                    id.substr(0, 40), size_text(max_query_bytes));
}

[[noreturn]] void refuse(std::string_view what, std::string_view why) { throw InvalidArgument("{}: {}", what, why); }

void refuse_repeated(const std::vector<QueryTerm>& terms, std::string_view what) {
  std::vector<std::string_view> sorted;
  sorted.reserve(terms.size());
  for (const QueryTerm& term : terms) sorted.push_back(term.term);
  std::sort(sorted.begin(), sorted.end());
  const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
  if (repeated != sorted.end()) refuse(what, "the term " + quoted_start(*repeated) + " occurs twice");
}

std::vector<QueryTerm> read_terms(const simdjson::dom::object& object, std::string_view what) {
  std::vector<QueryTerm> terms;
  terms.reserve(object.size());
  for (const simdjson::dom::key_value_pair member : object) {
    if (member.key.empty()) refuse(what, "a term is empty");
    double weight = 0;
    if (member.value.get_double().get(weight) != simdjson::SUCCESS)
      refuse(what, "the weight of the term " + quoted_start(member.key) + " is not a number");
    if (weight < 0)
      refuse(what, fmt::format("the term {} has the negative weight {}; remove it", quoted_start(member.key), weight));
    terms.push_back({std::string(member.key), weight});
  }
  refuse_repeated(terms, what);
  return terms;
}

}  // namespace

QueryFormat for_each_query(std::string_view bytes, QueryFormat format, std::string_view name, const QueryVisitor& visit,
                           const TextRelease& release) {
  const bool automatic = format == QueryFormat::automatic;
  check_is_text(bytes, name, release);
  const std::string_view text = without_byte_order_mark(bytes);
  const TopicMarkup* markup = automatic ? detect_topic_markup(text, release) : markup_of(format);
  const LineFormat* line_format = line_format_of(format);
  if (automatic && markup == nullptr) line_format = &detect_line_format(text, name, release);

  const QueryFormat found = markup != nullptr ? markup->format : line_format->format;
  std::uint64_t queries = 0;
  const QueryVisitor visit_query = [&](std::string_view id, std::string_view query) {
    check_size(name, ++queries, id, query);
    visit(id, query);
  };
  if (markup != nullptr)
    for_each_topic(text, *markup, name, visit_query, release);
  else
    for_each_line(text, *line_format, name, visit_query, release);
  if (queries == 0 && markup == nullptr)  // every line that isn't blank is a query or an error
    throw InvalidArgument("{}: contains no queries: it is empty{}", name, text.empty() ? "" : ", or blank");
  if (queries == 0) {
    throw InvalidArgument("{}: contains no queries (read as {}); name another format with {}", name,
                          name_of_value(query_formats, found), option_name<"queries-format">);
  }
  return found;
}

QueryFile parse_queries(std::string_view bytes, QueryFormat format, std::string_view name) {
  QueryFile file;
  file.format = for_each_query(bytes, format, name, [&](std::string_view id, std::string_view text) {
    file.queries.push_back({std::string(id), std::string(text)});
  });
  return file;
}

struct QueryLineParser::State {
  State(const LineFormat& format, std::string stream) : name(std::move(stream)), queries(format, name) {}

  const std::string name;
  LineQueries queries;
  std::uint64_t lines = 0;
};

QueryLineParser::QueryLineParser(QueryFormat format, std::string name) {
  const LineFormat* line_format = line_format_of(format);
  if (line_format == nullptr) {
    std::string message = name + ": queries that arrive over time need a format with one query per line; use one of";
    for (const LineFormat& known : line_formats)
      message += fmt::format(" {} {},", option_name<"queries-format">, name_of_value(query_formats, known.format));
    message.back() = ' ';
    throw InvalidArgument(message + "(not " + std::string(name_of_value(query_formats, format)) + ")");
  }
  state_ = std::make_unique<State>(*line_format, std::move(name));
}
QueryLineParser::QueryLineParser(QueryLineParser&&) noexcept = default;
QueryLineParser::~QueryLineParser() = default;

std::optional<Query> QueryLineParser::next(std::string_view line) {
  if (++state_->lines == 1) line = without_byte_order_mark(line);
  if (line.size() > max_written_bytes) refuse_long_line(state_->name, state_->lines);
  if (line.find('\0') != std::string_view::npos) refuse_zero_byte(state_->name, state_->lines);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (trim(line).empty()) return std::nullopt;
  const LineParts query = state_->queries.read(line, state_->lines);
  check_size(state_->name, state_->lines, query.id, query.text);
  return Query{std::string(query.id), std::string(query.text)};
}

std::vector<QueryTerm> parse_query_vector(std::string_view json, std::string_view what) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const auto error = parser.parse(json.data(), json.size(), true).get(object);
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error) refuse(what, fmt::format("is not a JSON object of terms and weights: {}", simdjson::error_message(error)));
  return read_terms(object, what);
}

}  // namespace quern
