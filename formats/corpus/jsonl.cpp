#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/json_record_finder.hpp"
#include "quern/text/field_value.hpp"
#include "quern/text/json_reader.hpp"
#include "quern/text/text_block.hpp"
#include "quern/text/tokenizer.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

/// A text in pieces that end on character boundaries.
class CharacterPieces {
 public:
  explicit CharacterPieces(std::unique_ptr<PieceSource> text) : text_(std::move(text)) {}

  /// The next piece; empty only at the end. The last piece may be an incomplete character.
  std::string_view next() {
    do {
      piece_.erase(0, whole_);
      const std::string_view more = text_->next();
      piece_ += more;
      whole_ = piece_.size() - (more.empty() ? 0 : partial_character_bytes(piece_));
    } while (whole_ == 0 && !piece_.empty());
    return std::string_view(piece_).substr(0, whole_);
  }

 private:
  std::unique_ptr<PieceSource> text_;
  std::string piece_;
  std::size_t whole_ = 0;  ///< bytes of complete characters in the piece
};

bool is_utf8(const RecordText& record) {
  if (record.is_whole()) return is_valid_utf8(record.head());
  CharacterPieces pieces(record.pieces());
  for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next())
    if (!is_valid_utf8(piece)) return false;
  return true;
}

/// Whether a string contains a control character. JSON forbids them, but repairing turns them into spaces.
bool has_control_in_string(const RecordText& record) {
  bool in_string = false, is_escaped = false;
  const std::unique_ptr<PieceSource> pieces = record.pieces();
  for (std::string_view piece = pieces->next(); !piece.empty(); piece = pieces->next()) {
    for (const char c : piece) {
      if (in_string && static_cast<unsigned char>(c) < 0x20) return true;
      if (c == '"' && !is_escaped) in_string = !in_string;
      is_escaped = c == '\\' && !is_escaped;
    }
  }
  return false;
}

/// A text whose invalid UTF-8 repair_utf8() replaced.
class RepairedPieces final : public PieceSource {
 public:
  RepairedPieces(std::unique_ptr<PieceSource> text, std::uint64_t& repaired)
      : text_(std::move(text)), repaired_(&repaired) {}

  std::string_view next() override {
    std::string_view piece = text_.next();
    // This is a byte order mark only at the start of the text, where an object has another byte.
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    whole_.clear();
    for (; piece.substr(0, mark.size()) == mark; piece.remove_prefix(mark.size())) whole_ += mark;
    *repaired_ += repair_utf8(piece, part_);
    return whole_ += part_;
  }

 private:
  CharacterPieces text_;
  std::uint64_t* repaired_;
  std::string whole_, part_;
};

ParsedRecord without_docno(const RecordScratch& scratch) {
  const std::string names = scratch.json_keys.names_of(JsonField::docno, ", ");
  return bad_record(fmt::format("it has no docno: {} {}; {}specify the docno's key with {}",
                                names.find(',') == std::string::npos ? "no key" : "none of the keys", names,
                                scratch.unread.empty() ? "" : scratch.unread.sentence("key", "ignored") + "; ",
                                option_name<"id-field">));
}

WeightsProblem without_weights(const JsonKeys& keys) {
  return {"it has no object with term weights under the key " + keys.names_of(JsonField::weights, ", ")};
}

/// The result for a record with weights: bad if `problem` is set.
ParsedRecord with_weights(const WeightsProblem& problem, const DocumentText& out) {
  if (problem.why.empty()) return {};
  return {RecordKind::bad, "document " + out.docno + ": " + problem.why, {}, problem.needs_options};
}

/// A trimmed short string; bytes beyond the field limit are only counted.
struct TrimmedString {
  std::string text;
  std::uint64_t size = 0;
};

TrimmedString take_trimmed(JsonReader& json) {
  TrimmedString string;
  std::uint64_t taken = 0;
  JsonStringPieces pieces(json);
  for (std::string_view piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    if (taken == 0)
      while (!piece.empty() && is_ascii_space(piece.front())) piece.remove_prefix(1);
    string.text += piece.substr(0, max_field_bytes + 1 - string.text.size());
    std::size_t end = piece.size();
    while (end > 0 && is_ascii_space(piece[end - 1])) --end;
    if (end > 0) string.size = taken + end;
    taken += piece.size();
  }
  string.text.resize(std::min<std::uint64_t>(string.size, string.text.size()));
  return string;
}

/// `first` is the first byte of a value that should be a string.
std::string_view kind_of_value(int first) {
  switch (first) {
    case '{':
      return "an object";
    case '[':
      return "an array";
    case 'N':
      return "NaN";
    case 'n':
      return "null";
    case 't':
    case 'f':
      return "a boolean";
    default:
      return "a number";
  }
}

/// Reads one object. A key of lower rank that follows one of higher rank replaces its value.
class JsonDocument {
 public:
  /// `whole`: the body is the text of all keys that aren't fields.
  JsonDocument(PieceSource& record, RecordScratch& scratch, DocumentText& out, bool whole = false)
      : json_(record),
        scratch_(scratch),
        out_(out),
        whole_(whole),
        seen_(keys().size()),
        kept_(scratch.json_keys.kept().size()) {
    scratch.unread.clear();
  }

  ParsedRecord read() {
    const std::size_t max_bytes = std::max(UnreadNames::max_name_bytes + 4, scratch_.json_keys.longest_name());
    json_.take_object(max_bytes,
                      [this](const std::string& name, std::uint64_t size) { read_member(name, size == name.size()); });
    json_.take_end();
    scratch_.repaired_utf8 += json_.replaced_surrogates();
    return result();
  }

 private:
  static constexpr unsigned no_rank = std::numeric_limits<unsigned>::max();

  const std::vector<JsonKey>& keys() const { return scratch_.json_keys.all(); }

  void read_member(const std::string& name, bool is_whole_name) {
    const bool is_null = json_.peek() == 'n';  // or damaged: skip_value() checks
    if (is_whole_name) {
      const auto& kept_names = scratch_.json_keys.kept();
      const auto kept_name = std::find(kept_names.begin(), kept_names.end(), name);
      if (kept_name != kept_names.end()) return read_kept(static_cast<std::size_t>(kept_name - kept_names.begin()));
      if (const auto key = scratch_.json_keys.find(name)) return read_key(*key, is_null);
    }
    if (!is_null) scratch_.unread.add(name);
    if (whole_)
      append_strings();
    else
      json_.skip_value();
  }

  void read_key(std::size_t key, bool is_null) {
    // The first of several keys of one name counts.
    const bool is_first = !seen_[key];
    seen_[key] = true;
    const JsonField field = keys()[key].field;
    unsigned& rank = ranks_[static_cast<std::size_t>(field)];
    if (!is_first || is_null || keys()[key].rank > rank) {
      json_.skip_value();
      return;
    }
    rank = keys()[key].rank;
    read_field(field);
  }

  void read_field(JsonField field) {
    switch (field) {
      case JsonField::docno:
        docno_ = read_docno();
        break;
      case JsonField::url:
        if (json_.peek() == '"')
          url_ = take_trimmed(json_);
        else
          json_.skip_value();
        break;
      case JsonField::title:
        title_misfit_ = read_text(out_.title);
        break;
      case JsonField::text:
        body_misfit_ = read_text(out_.body);
        break;
      case JsonField::weights:
        weights_problem_ = read_weights();
        break;
    }
  }

  /// Returns the error in the weights, if any.
  WeightsProblem read_weights() {
    if (json_.peek() != '{') {
      json_.skip_value();
      return without_weights(scratch_.json_keys);
    }
    DocumentWeights weights(scratch_, out_);
    json_.take_object(max_term_bytes, [&](const std::string& term, std::uint64_t term_bytes) {
      if (json_.is_at_number()) {
        weights.add(term, term_bytes, json_.take_number());
      } else {
        json_.skip_value();
        weights.add_without_weight(term);
      }
    });
    return weights.finish();
  }

  /// The first of several keys of one name counts.
  void read_kept(std::size_t field) {
    Kept& kept = kept_[field];
    const int first = json_.peek();
    if (std::exchange(kept.is_read, true)) {
      json_.skip_value();
    } else if (first == '"') {
      kept.value.kind = FieldValue::Kind::text;
      kept.text = json_.take_string(max_kept_text_bytes, kept.size);
    } else if (json_.is_at_number()) {
      kept.value.kind = FieldValue::Kind::number;
      kept.value.number = json_.take_number();
      kept.is_storable = std::isfinite(kept.value.number);
    } else {
      kept.is_storable = first != '[' && first != '{';
      if (first == 't') kept.value.kind = FieldValue::Kind::yes;
      if (first == 'f') kept.value.kind = FieldValue::Kind::no;
      json_.skip_value();
    }
  }

  /// False, with `problem` set, if a value can't be kept.
  bool keep_fields(ParsedRecord& problem) {
    for (std::size_t field = 0; field < kept_.size(); ++field) {
      const std::string& name = scratch_.json_keys.kept()[field];
      const Kept& kept = kept_[field];
      if (!kept.is_storable) {
        problem = kept.value.kind == FieldValue::Kind::number
                      ? bad_record("its field '" + name + "' is not a finite number")
                      : not_a_kept_value(name);
        return false;
      }
      if (kept.value.kind != FieldValue::Kind::text)
        put_field_value(out_.kept, kept.value);
      else if (!keep_text(name, kept.text, kept.size, out_, problem))
        return false;
    }
    return true;
  }

  TrimmedString read_docno() {
    is_docno_finite_ = true;
    if (json_.peek() == '"') return take_trimmed(json_);
    if (json_.is_at_number()) {
      const std::string number = json_.take_number_text();
      is_docno_finite_ = !number.empty();
      return {number, number.size()};
    }
    json_.skip_value();
    return {};
  }

  /// Reads a string, or an array of strings, which are phrases. Returns the first byte of the first other value; 0 if
  /// there is none.
  int read_text(SpooledText& out) {
    out.clear();
    if (json_.peek() != '[') return read_string(out);
    int misfit = 0;
    if (!json_.begin('[')) return misfit;
    do {
      end_phrase(out);
      if (const int other = read_string(out); misfit == 0) misfit = other;
    } while (json_.next_member('['));
    return misfit;
  }

  int read_string(SpooledText& out) {
    const int first = json_.peek();
    if (first == '"') {
      append_string(out);
      return 0;
    }
    json_.skip_value();
    return first;
  }

  /// Appends the strings in a value of any kind, each a phrase.
  void append_strings() {
    const int first = json_.peek();
    if (first == '"') {
      end_phrase(out_.body);
      append_string(out_.body);
    } else if (first != '[' && first != '{') {
      json_.skip_value();
    } else if (json_.begin(static_cast<char>(first))) {
      do {
        if (first == '{') {
          JsonStringPieces name(json_);
          while (!name.next().empty()) {
          }
          json_.take(':');
        }
        append_strings();
      } while (json_.next_member(static_cast<char>(first)));
    }
  }

  void append_string(SpooledText& out) {
    JsonStringPieces text(json_);
    append_plain_text(text, scratch_, out);
  }

  /// Reports a field that is, or has in an array, a value that begins with `first`.
  ParsedRecord not_text(JsonField field, std::string_view option, int first) const {
    const unsigned rank = ranks_[static_cast<std::size_t>(field)];
    const auto key = std::find_if(keys().begin(), keys().end(),
                                  [&](const JsonKey& known) { return known.field == field && known.rank == rank; });
    return bad_record(fmt::format(
        "its key '{}' holds {} where a string should be; convert the value to a string or an array of strings, or name "
        "another key with {}",
        key->name, kind_of_value(first), option));
  }

  bool has(JsonField field) const { return ranks_[static_cast<std::size_t>(field)] != no_rank; }

  ParsedRecord result() {
    ParsedRecord result;
    if (!has(JsonField::docno)) return without_docno(scratch_);
    if (!is_docno_finite_) return bad_record("its docno is not a finite number");
    if (docno_.size > max_field_bytes) return docno_too_long(docno_.size);
    if (!set_docno(docno_.text, scratch_, out_, result)) return result;
    set_url(url_.text, scratch_, out_);
    if (title_misfit_ != 0) return not_text(JsonField::title, option_name<"title-field">, title_misfit_);
    if (!keep_fields(result)) return result;
    if (body_misfit_ != 0) return not_text(JsonField::text, option_name<"text-field">, body_misfit_);
    if (scratch_.impacts)
      return with_weights(has(JsonField::weights) ? weights_problem_ : without_weights(scratch_.json_keys), out_);
    if (!has(JsonField::text) && !scratch_.unread.empty())
      result.remark = without_text(jsonl_format, scratch_, out_.body.empty() ? "ignored" : "indexed instead");
    return result;
  }

  /// The value of a kept field.
  struct Kept {
    FieldValue value;
    std::string text;        ///< the first bytes of a text
    std::uint64_t size = 0;  ///< of the whole text
    bool is_read = false, is_storable = true;
  };

  JsonReader json_;
  RecordScratch& scratch_;
  DocumentText& out_;
  bool whole_;
  std::vector<bool> seen_;  ///< by key
  std::vector<Kept> kept_;
  std::array<unsigned, json_fields> ranks_ = {no_rank, no_rank, no_rank, no_rank, no_rank};
  TrimmedString docno_, url_;
  bool is_docno_finite_ = true;
  int title_misfit_ = 0, body_misfit_ = 0;
  WeightsProblem weights_problem_;
};

bool is_jsonl(std::string_view head) {
  if (head.substr(0, 3) == "\xEF\xBB\xBF") head.remove_prefix(3);
  head = trim(head);
  if (!head.empty() && head.front() == '[') head = trim(head.substr(1));
  if (head.empty() || head.front() != '{') return false;
  head = trim(head.substr(1));
  return head.empty() || head.front() == '"' || head.front() == '}';
}

ParsedRecord read_json(const RecordText& record, RecordScratch& scratch, DocumentText& out, bool whole) {
  out.clear();
  if (is_utf8(record)) return JsonDocument(*record.pieces(), scratch, out, whole).read();
  if (has_control_in_string(record)) throw JsonDamage("a string contains a control character");
  RepairedPieces repaired(record.pieces(), scratch.repaired_utf8);
  return JsonDocument(repaired, scratch, out, whole).read();
}

ParsedRecord parse_jsonl(const RecordText& record, RecordScratch& scratch, DocumentText& out) {
  try {
    const std::uint64_t repaired_before = scratch.repaired_utf8;
    ParsedRecord parsed = read_json(record, scratch, out, false);
    if (parsed.remark.empty()) return parsed;
    scratch.repaired_utf8 = repaired_before;
    return read_json(record, scratch, out, true);  // rare, so reading it twice costs little
  } catch (const JsonDamage& damage) {
    return bad_record(std::string("it is not a JSON object: ") + damage.what());
  }
}

}  // namespace

const CorpusFormat jsonl_format = {
    .name = "jsonl",
    .description = "JSON objects with id, title, contents or text, url",
    .detect = is_jsonl,
    .make_finder = make_json_record_finder,
    .parse = parse_jsonl,
    .gives_weights = true,
    .text_place =
        [](const RecordScratch& scratch) { return "under " + scratch.json_keys.names_of(JsonField::text, " or "); },
    .unread_part = "key"};

}  // namespace quern
