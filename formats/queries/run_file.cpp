#include "quern/formats/queries/run_file.hpp"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

#include "quern/core/named.hpp"
#include "quern/formats/tables/source_bytes.hpp"
#include "quern/formats/tables/text_lines.hpp"

namespace quern {
namespace {

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

/// Writes a JSON string; invalid UTF-8 becomes U+FFFD.
void put_json(std::string& out, std::string_view text) {
  out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Number of UTF-8 characters.
std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void put_snippet(std::string& out, const ResultField& field) {
  out += "{\"snippet\":";
  put_json(out, field.value.text);
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
  put_json(out, field.name);
  out += ':';
  if (field.is_snippet)
    put_snippet(out, field);
  else if (field.value.kind == FieldValue::Kind::text)
    put_json(out, field.value.text);
  else
    out += field.value.kind == FieldValue::Kind::none ? "null" : plain_text(field.value);
}

void append_json(std::string& out, std::string_view qid, std::string_view query_text, const ResultPiece& piece,
                 std::string_view) {
  if (piece.is_first) {
    out += "{\"id\":";
    put_json(out, qid);
    out += ",\"query\":";
    put_json(out, query_text);
    out += ",\"results\":[";
  }
};

class TextFormat : public RunFormat {
 public:
  std::string_view name() const override { return "text"; }
  std::string_view description() const override { return "human-readable columns: rank, score, docno, title and URL"; }
  bool shows_titles() const override { return true; }

  void append_piece(std::string& out, std::string_view qid, std::string_view query_text, const ResultPiece& piece,
                    std::string_view) const override {
    append_results_table(out, qid, query_text, piece);
  }
  if (piece.is_last) out += "]}\n";
}

void append_text(std::string& out, std::string_view qid, std::string_view query_text, const ResultPiece& piece,
                 std::string_view) {
  append_results_table(out, qid, query_text, piece);
}

/// Scores of other programs may exceed float's range: they become 0 or infinite.
bool read_score(std::string_view word, float& score) {
  if (!word.empty() && word.front() == '+') word.remove_prefix(1);
  if (parse_number(word, score)) return true;
  double wide = 0;
  if (!parse_number(word, wide)) return false;
  score = static_cast<float>(wide);
  return true;
}

RunLineText read_run_line(std::string_view line, std::string_view name, std::uint64_t number) {
  RunLineText entry;
  entry.qid = next_word(line);
  next_word(line);
  entry.docno = next_word(line);
  const std::string_view rank = next_word(line), score = next_word(line);
  entry.tag = next_word(line);
  if (entry.tag.empty()) fail_at_line(name, number, "is not \"qid Q0 docno rank score tag\"");
  if (!parse_number(rank, entry.rank)) fail_at_line(name, number, "the fourth column, the rank, is not a number");
  if (!read_score(score, entry.score)) fail_at_line(name, number, "the fifth column, the score, is not a number");
  return entry;
}

}  // namespace

std::span<const RunFormat> all_run_formats() {
  static constexpr RunFormat formats[] = {
      {"trec", "lines \"qid Q0 docno rank score tag\", for trec_eval", false, append_trec},
      {"msmarco", "lines \"qid<TAB>docno<TAB>rank\", as MS MARCO expects", false, append_msmarco},
      {"json", "a line of JSON per query, with titles and URLs", true, append_json},
      {"text", "columns for people: rank, score, docno, title and URL", true, append_text},
  };
  return formats;
}

const RunFormat& run_format_named(std::string_view name) {
  return find_named(all_run_formats(), name, "output format");
}

void read_run(ByteSource& source, const std::function<void(const RunLineText&, std::uint64_t)>& visit) {
  for_each_source_line(source, [&](std::string_view line, std::uint64_t number) {
    visit(read_run_line(line, source.name(), number), number);
  });
}

}  // namespace quern
