#include "quern/formats/queries/run_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <utf8proc.h>

#include <charconv>
#include <cmath>
#include <cstdio>

#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

constexpr std::size_t line_columns = 100;
constexpr std::size_t widest_docno = 40;  ///< longer docnos exceed their column
constexpr std::string_view gap = "  ";

/// Text as shown on a terminal.
struct Shown {
  std::string text;
  std::size_t columns = 0;
};

/// `text` cut to `limit` columns, with an ellipsis if it was longer.
Shown shown(std::string_view text, std::size_t limit) {
  Shown result;
  std::size_t cut_size = 0, cut_columns = 0;  // where an ellipsis still fits
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t code = 0;
    const auto left = static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size() - at, 4));
    const utf8proc_ssize_t size = utf8proc_iterate(bytes + at, left, &code);
    const std::string_view character = size > 0 ? text.substr(at, static_cast<std::size_t>(size)) : "\xef\xbf\xbd";
    at += size > 0 ? static_cast<std::size_t>(size) : 1;
    const auto category = size > 0 ? utf8proc_category(code) : UTF8PROC_CATEGORY_SO;
    const bool obeyed = category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF ||
                        category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
    const auto width = obeyed ? 1 : size > 0 ? static_cast<std::size_t>(utf8proc_charwidth(code)) : 1;
    if (result.columns + width > limit) {
      result.text.resize(cut_size);
      result.text += "\xe2\x80\xa6";
      result.columns = cut_columns + 1;
      return result;
    }
    result.text += obeyed ? " " : character;
    result.columns += width;
    if (result.columns < limit) {
      cut_size = result.text.size();
      cut_columns = result.columns;
    }
  }
  return result;
}

Shown whole(std::string_view text) { return shown(text, std::string::npos - 2); }

void put_padded(std::string& out, const Shown& text, std::size_t columns) {
  out += text.text;
  out.append(columns - std::min(columns, text.columns), ' ');
}

void put_right(std::string& out, std::string_view text, std::size_t columns) {
  out.append(columns - std::min(columns, text.size()), ' ');
  out += text;
}

std::string score_text(float score) {
  char text[64];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.4f", static_cast<double>(score)))};
}

/// Appends a snippet's lines, indented, with matches in bold on a terminal.
void put_snippet_lines(std::string& out, const ResultField& field, std::size_t begin, bool in_bold) {
  const std::size_t columns = line_columns - std::min(begin, line_columns / 2);
  const std::string_view text = field.value.text;
  auto match = field.matches.begin();
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const Shown word = whole(text.substr(at, end - at));
    while (match != field.matches.end() && match->end <= at) ++match;
    const bool bold = in_bold && match != field.matches.end() && match->begin < end;
    if (used > 0 && used + 1 + word.columns > columns) {
      out += '\n';
      used = 0;
    }
    out.append(used > 0 ? 1 : begin, ' ');
    out.append(bold ? "\x1b[1m" : "").append(word.text).append(bold ? "\x1b[0m" : "");
    used += (used > 0 ? 1 : 0) + word.columns;
    at = end + 1;
  }
  if (used > 0) out += '\n';
}

/// Appends the fields other than title and URL, which have their own places.
void put_other_fields(std::string& out, std::span<const ResultField> fields, std::size_t begin, bool in_bold) {
  for (const ResultField& field : fields) {
    if (field.name == "title" || field.name == "url" || field.value.kind == FieldValue::Kind::none) continue;
    if (field.is_snippet)
      put_snippet_lines(out, field, begin, in_bold);
    else
      out.append(begin, ' ').append(field.name).append(": ").append(whole(plain_text(field.value)).text).append("\n");
  }
}

template <class Number>
void put_number(std::string& out, Number value) {
  char digits[32];
  out.append(digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits));
}

/// Writes a column separated by white space: blanks and control characters inside become '_'.
void put_column(std::string& out, std::string_view text) {
  const std::size_t at = out.size();
  out.append(text.empty() ? "_" : text);
  for (std::size_t i = at; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    if (byte <= ' ' || byte == 0x7f) out[i] = '_';
  }
}

void append_trec(std::string& out, std::string_view qid, std::string_view, const ResultPiece& piece,
                 std::string_view tag) {
  std::string front, back = " ";
  put_column(front, qid);
  front += " Q0 ";
  put_column(back, tag);
  back += '\n';
  std::size_t rank = piece.first_rank;
  for (const RunResult& result : piece.results) {
    out += front;
    put_column(out, result.docno);
    out += ' ';
    put_number(out, rank++);
    out += ' ';
    put_number(out, result.score);
    out += back;
  }
}

void append_msmarco(std::string& out, std::string_view qid, std::string_view, const ResultPiece& piece,
                    std::string_view) {
  std::size_t rank = piece.first_rank;
  for (const RunResult& result : piece.results) {
    put_column(out, qid);
    out += '\t';
    put_column(out, result.docno);
    out += '\t';
    put_number(out, rank++);
    out += '\n';
  }
}

/// A JSON string; invalid UTF-8 becomes U+FFFD.
std::string quoted_json(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Number of UTF-8 characters.
std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void put_snippet(std::string& out, const ResultField& field) {
  out += "{\"snippet\":";
  out += quoted_json(field.value.text);
  out += ",\"matches\":[";
  for (const TextPlace& place : field.matches) {
    if (out.back() == ']') out += ',';
    out += '[';
    put_number(out, count_characters(field.value.text.substr(0, place.begin)));
    out += ',';
    put_number(out, count_characters(field.value.text.substr(0, place.end)));
    out += ']';
  }
  out += "]}";
}

void put_field(std::string& out, const ResultField& field) {
  out += ',';
  out += quoted_json(field.name);
  out += ':';
  if (field.is_snippet)
    put_snippet(out, field);
  else if (field.value.kind == FieldValue::Kind::text)
    out += quoted_json(field.value.text);
  else
    out += field.value.kind == FieldValue::Kind::none ? "null" : plain_text(field.value);
}

void put_score(std::string& out, float score) {
  // JSON has no infinities.
  if (std::isfinite(score))
    put_number(out, score);
  else
    out += "null";
}

void put_proof(std::string& out, const ResultProof& proof) {
  out += proof.bound_left ? ",\"exact\":false,\"bound_left\":" : ",\"exact\":true,\"bound_left\":null";
  if (proof.bound_left) put_score(out, *proof.bound_left);
}

void append_json(std::string& out, std::string_view qid, std::string_view query_text, const ResultPiece& piece,
                 std::string_view) {
  if (piece.is_first) {
    out += "{\"id\":";
    out += quoted_json(qid);
    out += ",\"query\":";
    out += quoted_json(query_text);
    if (piece.proof) put_proof(out, *piece.proof);
    out += ",\"results\":[";
  }
  std::size_t rank = piece.first_rank;
  for (const RunResult& result : piece.results) {
    out += rank == 1 ? "{\"rank\":" : ",{\"rank\":";
    put_number(out, rank++);
    out += ",\"docno\":";
    out += quoted_json(result.docno);
    out += ",\"score\":";
    put_score(out, result.score);
    if (result.fields) {
      for (const ResultField& field : *result.fields) put_field(out, field);
    } else {
      out += ",\"title\":";
      out += quoted_json(result.title);
      out += ",\"url\":";
      out += quoted_json(result.url);
    }
    out += '}';
  }
  if (piece.is_last) out += "]}\n";
}

void append_text(std::string& out, std::string_view qid, std::string_view query_text, const ResultPiece& piece,
                 std::string_view) {
  append_results_table(out, qid, query_text, piece);
}

/// A number without the plus sign that it may have, which parse_number() doesn't take.
std::string_view without_plus(std::string_view word) {
  return word.size() > 1 && word[0] == '+' && word[1] != '-' ? word.substr(1) : word;
}

/// Scores of other programs may exceed the range of their type: they become 0 or infinite.
bool read_score(std::string_view word, RunLineText& entry) {
  word = without_plus(word);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), entry.double_score);
  if (end != word.data() + word.size() || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) entry.double_score = std::strtod(std::string(word).c_str(), nullptr);
  if (!parse_number(word, entry.score)) entry.score = static_cast<float>(entry.double_score);
  return true;
}

/// The columns of a line of judgements or of a run, up to one more than a run has.
struct LineColumns {
  std::string_view text[7];
  std::size_t count = 0;

  explicit LineColumns(std::string_view line) {
    while (count < std::size(text) && !(text[count] = next_word(line)).empty()) ++count;
  }
  template <class Number>
  bool has_number(std::size_t column) const {
    Number number = 0;
    return parse_number(text[column], number);
  }
  /// Whether all columns are names.
  bool is_heading() const {
    const auto has_digit = [](std::string_view word) { return std::any_of(word.begin(), word.end(), is_ascii_digit); };
    return count >= 3 && std::none_of(text, text + count, has_digit);
  }
};

/// What a line that isn't a judgement, or not of a run, is likely to be; empty if unknown.
std::string_view likely_kind(const LineColumns& line) {
  const bool has_whole_third = line.has_number<std::int64_t>(2), has_whole_fourth = line.has_number<std::int64_t>(3),
             has_fifth = line.has_number<double>(4);
  if (line.text[0].starts_with('{') || line.text[0].starts_with('[')) return "JSON";
  if (line.text[0].starts_with("\xff\xfe") || line.text[0].starts_with("\xfe\xff"))
    return "text in UTF-16; convert it to UTF-8 first, for example with iconv";
  if (line.count == 1 && std::count(line.text[0].begin(), line.text[0].end(), ',') > 1)
    return "comma-separated values; write blanks in place of the commas";
  if (line.is_heading())
    return "a heading; remove it, or with three columns write \"query-id corpus-id score\", as in BEIR's judgements";
  if (line.text[4].starts_with('#')) return "judgements with a comment; remove it, or give it a line of its own";
  if (line.count >= 6 && has_whole_fourth && has_fifth)
    return "a run; if judgements and run are in each other's place, swap them";
  if (line.count == 5 && line.text[1] == "Q0" && has_whole_fourth && has_fifth)
    return "a run without its last column, the tag; add one";
  if (line.count == 5 && has_whole_third && has_whole_fourth && has_fifth)
    return "prels, \"qid docno relevance method probability\"; make qrels of its first three columns";
  if (line.count == 5 && line.has_number<std::int64_t>(4))
    return "judgements of several judges or strata, or preferences; make \"qid 0 docno relevance\" of it";
  if (line.count == 4 && has_whole_fourth && !line.has_number<std::int32_t>(3))
    return "judgements with a relevance of more than 32 bits; make a smaller number of it";
  if (line.count == 4 && has_whole_fourth)
    return "judgements; if judgements and run are in each other's place, swap them";
  if (line.count == 4 && line.has_number<double>(3)) return "judgements with decimals; make whole numbers of them";
  if (line.count >= 3 && line.count <= 4 && line.text[line.count - 1].size() == 2 &&
      line.text[line.count - 1][0] == 'L')
    return "judgements of NTCIR; make \"qid 0 docno relevance\" of \"qid docno Lrelevance\"";
  if (line.count == 4 && !line.text[3].starts_with('#'))
    return "judgements whose relevance is not a decimal number; make whole numbers of it";
  if (line.count == 2) return "relevant documents without their relevance; make \"qid 0 docno 1\" of each line";
  if (line.count == 3 && has_whole_third)
    return "a run of MS MARCO, \"qid docno rank\", or judgements of BEIR without their heading "
           "\"query-id corpus-id score\"";
  return {};
}

/// Refuses a line that isn't `wanted`.
[[noreturn]] void refuse_columns(std::string_view line, std::string_view wanted, std::string_view name,
                                 std::uint64_t number) {
  const LineColumns columns(line);
  const std::string_view kind = likely_kind(columns);
  fail_at_line(name, number,
               fmt::format("is not \"{}\", but has {}{}{}", wanted,
                           columns.count > 6 ? "more than 6 columns" : count_text(columns.count, "column"),
                           kind.empty() ? "" : ", like ", kind));
}

RunLineText read_run_line(std::string_view line, std::string_view name, std::uint64_t number) {
  const std::string_view whole = line;
  RunLineText entry;
  entry.qid = next_word(line);
  next_word(line);
  entry.docno = next_word(line);
  const std::string_view rank = next_word(line), score = next_word(line);
  entry.tag = next_word(line);
  if (entry.tag.empty()) refuse_columns(whole, "qid Q0 docno rank score tag", name, number);
  if (!parse_number(without_plus(rank), entry.rank) || entry.rank != std::floor(entry.rank))
    fail_at_line(name, number, "the fourth column, the rank, is not a whole number");
  if (!read_score(score, entry)) fail_at_line(name, number, "the fifth column, the score, is not a number");
  return entry;
}

/// Whether a line looks like one of MS MARCO's runs, "qid docno rank".
bool is_ranked_line(const LineColumns& line) { return line.count == 3 && line.has_number<std::uint32_t>(2); }

RunLineText read_ranked_line(std::string_view line, std::string_view name, std::uint64_t number) {
  const LineColumns columns(line);
  RunLineText entry;
  std::uint32_t rank = 0;
  if (columns.count != 3 || !parse_number(columns.text[2], rank)) refuse_columns(line, "qid docno rank", name, number);
  if (rank == 0) fail_at_line(name, number, "the third column, the rank, is 0; ranks begin with 1");
  entry.qid = columns.text[0];
  entry.docno = columns.text[1];
  entry.rank = rank;
  entry.has_score = false;
  entry.double_score = -entry.rank;
  entry.score = static_cast<float>(entry.double_score);
  return entry;
}

/// Calls visit(line, number) for the lines of a source that are neither blank nor comments.
template <class Visit>
void for_each_row(ByteSource& source, Visit&& visit) {
  for_each_source_line(source, [&](std::string_view line, std::uint64_t number) {
    if (!trim(line).starts_with('#')) visit(line, number);
  });
}

}  // namespace

std::string_view kind_of_row(std::string_view line) {
  const LineColumns columns(line);
  if (columns.count == 4 && (columns.text[1] == "Q0" || columns.has_number<std::int64_t>(1)) &&
      columns.has_number<std::int64_t>(3))
    return "judgements (qrels), \"qid 0 docno relevance\"";
  if (columns.count == 6 && columns.has_number<std::int64_t>(3) && columns.has_number<double>(4))
    return "a run, \"qid Q0 docno rank score tag\"";
  return {};
}

void append_results_table(std::string& out, std::string_view qid, std::string_view query_text,
                          const ResultPiece& piece) {
  const std::span<const RunResult> results = piece.results;
  if (piece.is_first) out += whole(qid).text + ": " + shown(query_text, 10 * line_columns).text + '\n';
  if (results.empty()) out += "  no documents found\n";

  const std::size_t rank_columns =
      std::max<std::size_t>(4, std::to_string(piece.first_rank + results.size() - 1).size());
  std::size_t score_columns = 5, docno_columns = 5;
  for (const RunResult& result : results) {
    score_columns = std::max(score_columns, score_text(result.score).size());
    docno_columns = std::max(docno_columns, std::min(whole(result.docno).columns, widest_docno));
  }
  const std::size_t title_begin = rank_columns + score_columns + docno_columns + 3 * gap.size();
  const std::size_t title_columns = title_begin + 20 < line_columns ? line_columns - title_begin : 20;

  std::size_t rank = piece.first_rank;
  for (const RunResult& result : results) {
    put_right(out, std::to_string(rank++), rank_columns);
    out += gap;
    put_right(out, score_text(result.score), score_columns);
    out += gap;
    const Shown title = shown(result.title, title_columns);
    put_padded(out, whole(result.docno), title.text.empty() ? 0 : docno_columns);
    if (!title.text.empty()) out.append(gap).append(title.text);
    out += '\n';
    const std::size_t below = title_begin - docno_columns - gap.size();
    if (!result.url.empty()) out.append(below, ' ').append(whole(result.url).text).append("\n");
    if (result.fields) put_other_fields(out, *result.fields, below, piece.on_terminal);
  }
  if (piece.is_last) out += '\n';
}

std::span<const RunFormat> all_run_formats() {
  static constexpr RunFormat formats[] = {
      {"trec", "lines \"qid Q0 docno rank score tag\", for trec_eval", false, append_trec},
      {"msmarco", "lines \"qid<TAB>docno<TAB>rank\", as MS MARCO expects", false, append_msmarco},
      {"json", "a line of JSON per query, with titles and URLs", true, append_json},
      {"text", "human-readable columns: rank, score, docno, title and URL", true, append_text},
  };
  return formats;
}

const RunFormat& run_format_named(std::string_view name) {
  return find_named(all_run_formats(), name, "output format");
}

void append_trec_line(std::string& out, std::string_view qid, std::string_view docno, std::uint64_t rank, double score,
                      std::string_view tag) {
  put_column(out, qid);
  out += " Q0 ";
  put_column(out, docno);
  out += ' ';
  put_number(out, rank);
  out += ' ';
  put_number(out, score);
  out += ' ';
  put_column(out, tag);
  out += '\n';
}

void read_run(ByteSource& source, const std::function<void(const RunLineText&, std::uint64_t)>& visit,
              RunScores scores) {
  bool is_first = true;
  auto* read_line = read_run_line;
  for_each_row(source, [&](std::string_view line, std::uint64_t number) {
    if (std::exchange(is_first, false) && scores == RunScores::or_ranks && is_ranked_line(LineColumns(line)))
      read_line = read_ranked_line;
    visit(read_line(line, source.name(), number), number);
  });
}

void read_qrels(ByteSource& source, const std::function<void(const JudgementLine&, std::uint64_t)>& visit) {
  bool is_first = true, three_columns = false;
  for_each_row(source, [&](std::string_view line, std::uint64_t number) {
    if (std::string_view rest = line; std::exchange(is_first, false)) {
      // BEIR's heading.
      three_columns = next_word(rest) == "query-id" && next_word(rest) == "corpus-id" && next_word(rest) == "score";
      if (three_columns) return;
    }
    std::string_view rest = line;
    JudgementLine judgement;
    judgement.qid = next_word(rest);
    if (!three_columns) next_word(rest);
    judgement.docno = next_word(rest);
    if (!parse_number(without_plus(next_word(rest)), judgement.relevance) || !next_word(rest).empty())
      refuse_columns(line, three_columns ? "query-id corpus-id score" : "qid 0 docno relevance", source.name(), number);
    visit(judgement, number);
  });
}

std::string letor_line(const LetorRow& row, std::size_t num_features) {
  std::string line = fmt::format("{} qid:{}", row.label, row.qid);
  for (std::size_t feature = 0; feature < num_features; ++feature)
    fmt::format_to(std::back_inserter(line), " {}:{}", feature + 1, row.value(feature));
  return line.append(" # ").append(row.docno).append(1, '\n');
}

std::string letor_json(const LetorRow& row, std::span<const std::string> names) {
  std::string line = fmt::format("{{\"qid\":{},\"docno\":{},\"label\":{},\"features\":{{", quoted_json(row.qid),
                                 quoted_json(row.docno), row.label);
  for (std::size_t feature = 0; feature < names.size(); ++feature)
    fmt::format_to(std::back_inserter(line), "{}{}:{}", feature == 0 ? "" : ",", quoted_json(names[feature]),
                   row.value(feature));
  return line.append("}}\n");
}

}  // namespace quern
