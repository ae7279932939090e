#include <utf8proc.h>

#include <cstdio>

#include "quern/formats/queries/run_file.hpp"

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

}  // namespace

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

}  // namespace quern
