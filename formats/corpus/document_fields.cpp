#include "quern/formats/corpus/document_fields.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "quern/text/field_value.hpp"
#include "quern/text/tokenizer.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::string_view repaired(std::string_view text, RecordScratch& scratch) {
  scratch.repaired_utf8 += repair_utf8(text, scratch.text);
  return scratch.text;
}

/// A text in repaired UTF-8. Valid pieces are not copied.
class RepairedText final : public PieceSource {
 public:
  RepairedText(PieceSource& from, Utf8Repair& repair, std::string& buffer)
      : from_(&from), repair_(&repair), buffer_(&buffer) {}
  std::string_view next() override {
    std::string_view repaired_piece;
    while (repaired_piece.empty() && !ended_) {
      const std::string_view piece = from_->next();
      ended_ = piece.empty();
      if (!ended_) {
        repaired_piece = repair_->repaired(piece, *buffer_);
      } else {
        buffer_->clear();
        repair_->finish(*buffer_);
        repaired_piece = *buffer_;
      }
    }
    return repaired_piece;
  }

 private:
  PieceSource* from_;
  Utf8Repair* repair_;
  std::string* buffer_;
  bool ended_ = false;
};

/// Calls use(PieceSource&) with the text in repaired UTF-8. Takes an unknown charset for UTF-8.
template <class Use>
void with_repaired(PieceSource& bytes, std::string_view charset, RecordScratch& scratch, Use&& use) {
  SlicedPieces sliced(bytes);
  CharsetConverter converter(charset);
  ChangedPieces converted(sliced, converter, scratch.converted);
  PieceSource& utf8 = converter.converts() ? static_cast<PieceSource&>(converted) : sliced;
  Utf8Repair repair;
  RepairedText repaired_pieces(utf8, repair, scratch.text);
  use(repaired_pieces);
  scratch.repaired_utf8 += repair.replaced();
}

/// Appends text to a stream, with a phrase end for each run of empty lines.
class PlainText {
 public:
  explicit PlainText(SpooledText& out) : out_(out) {}

  void append(std::string_view text) {
    while (!text.empty()) {
      if (after_empty_line_) {
        while (!text.empty() && is_ascii_space(text.front())) text.remove_prefix(1);
        if (text.empty()) return;
        after_empty_line_ = false;
      }
      if (after_line_ && text.front() == '\n') {
        after_line_ = false;
        end_lines();
        continue;
      }
      finish();
      const std::size_t empty_line = text.find("\n\n");
      if (empty_line == std::string_view::npos) {
        after_line_ = text.back() == '\n';
        out_ += text.substr(0, text.size() - (after_line_ ? 1 : 0));
        return;
      }
      out_ += text.substr(0, empty_line);
      text.remove_prefix(empty_line);
      end_lines();
    }
  }
  void finish() {
    if (after_line_) out_ += '\n';
    after_line_ = false;
  }

 private:
  void end_lines() {
    after_empty_line_ = true;
    end_phrase(out_);
  }

  SpooledText& out_;
  bool after_line_ = false;        ///< a line end was held back: an empty line may follow
  bool after_empty_line_ = false;  ///< white space is skipped
};

void append_plain_text(PieceSource& bytes, std::string_view charset, RecordScratch& scratch, SpooledText& out) {
  with_repaired(bytes, charset, scratch, [&](PieceSource& text) {
    PlainText plain(out);
    for (std::string_view piece = text.next(); !piece.empty(); piece = text.next()) plain.append(piece);
    plain.finish();
  });
}

/// Hashes kept in memory.
constexpr std::size_t max_kept_terms = 1 << 16;
/// Memory for sorting work files.
constexpr std::uint64_t sorting_bytes = 2 << 20;

}  // namespace

ParsedRecord bad_record(std::string reason) { return {RecordKind::bad, std::move(reason)}; }
ParsedRecord skipped_record(std::string reason) { return {RecordKind::skipped, std::move(reason)}; }

ParsedRecord docno_too_long(std::uint64_t docno_bytes) {
  return bad_record("its docno has " + std::to_string(docno_bytes) + " bytes; the limit is " +
                    std::to_string(max_field_bytes));
}

bool set_docno(std::string_view docno, RecordScratch& scratch, DocumentText& out, ParsedRecord& problem) {
  docno = trim(docno);
  if (docno.size() > max_field_bytes) {
    problem = docno_too_long(docno.size());
  } else if (has_control_character(docno)) {
    problem = bad_record("its docno contains a control character");
  } else {
    out.docno = trim(repaired(docno, scratch));
    if (!out.docno.empty()) return true;
    problem = bad_record("its docno is empty");
  }
  return false;
}

void set_url(std::string_view url, RecordScratch& scratch, DocumentText& out) {
  url = trim(url);
  if (url.size() <= max_field_bytes && !has_control_character(url)) out.url = repaired(url, scratch);
}

bool keep_text(std::string_view name, std::string_view text, std::uint64_t size, DocumentText& out,
               ParsedRecord& problem) {
  if (size > max_kept_text_bytes) {
    problem = bad_record("its field '" + std::string(name) + "' has " + std::to_string(size) + " bytes; the limit is " +
                         std::to_string(max_kept_text_bytes));
    return false;
  }
  put_field_value(out.kept, {FieldValue::Kind::text, 0, text});
  return true;
}

ParsedRecord not_a_kept_value(std::string_view name) {
  return bad_record("its field '" + std::string(name) +
                    "' is an array or an object; only strings, numbers and booleans can be kept");
}

void for_each_repaired(PieceSource& text, std::string_view charset, RecordScratch& scratch,
                       const std::function<void(std::string_view)>& visit) {
  with_repaired(text, charset, scratch, [&](PieceSource& repaired_text) {
    for (std::string_view piece = repaired_text.next(); !piece.empty(); piece = repaired_text.next()) visit(piece);
  });
}

void append_plain_text(PieceSource& text, RecordScratch& scratch, SpooledText& out) {
  append_plain_text(text, "utf-8", scratch, out);
}

void append_plain_text(std::string_view text, RecordScratch& scratch, SpooledText& out) {
  ViewPieces pieces(text);
  append_plain_text(pieces, scratch, out);
}

void end_phrase(SpooledText& stream) {
  if (!stream.empty() && stream.back() != phrase_end) stream += phrase_end;
}

void extract_html(PieceSource& html, std::string_view http_content_type, RecordScratch& scratch, DocumentText& out) {
  PeekedPieces page(html);
  const std::string charset = html_charset(http_content_type, page.peek(charset_prescan_bytes));
  with_repaired(page, charset, scratch, [&](PieceSource& text) { scratch.html.extract(text, out.url, out); });
}

void extract_plain_page(PieceSource& page, std::string_view http_content_type, RecordScratch& scratch,
                        DocumentText& out) {
  append_plain_text(page, html_charset(http_content_type, {}), scratch, out.body);
}

DocumentWeights::DocumentWeights(const RecordScratch& scratch, DocumentText& out)
    : scratch_(scratch), settings_(*scratch.impacts), out_(out) {
  out_.weights.clear();
}

void DocumentWeights::add(std::string_view term, std::uint64_t term_bytes, double weight) {
  if (!problem_.why.empty()) return;
  if (term_bytes == 0) return note_problem(term, "is empty");
  if (term_bytes > max_term_bytes)
    return note_problem(term, fmt::format("has {} bytes; the limit is {}", term_bytes, max_term_bytes));
  note_term(term);
  if (weight == 0) return;
  const std::uint32_t whole = whole_weight(term, weight);
  if (whole == 0) return;
  sum_ += whole;
  out_.weights.append(term, whole);
}

std::uint32_t DocumentWeights::whole_weight(std::string_view term, double weight) {
  const auto refuse = [&](std::string_view why, bool needs_options) {
    note_problem(term, fmt::format("has the weight {}: {}", weight, why), needs_options);
    return 0;
  };
  if (!std::isfinite(weight)) return refuse("weights must be finite", false);
  if (weight < 0) return refuse("weights can't be negative", false);
  const double scaled = settings_.scale ? std::max(1.0, std::floor(weight * *settings_.scale + 0.5)) : weight;
  if (scaled > settings_.max_weight())
    return refuse(fmt::format("the maximum with {} {} is {}; allow more bits (up to {}), or use a{} {}",
                              option_name<"impacts">, settings_.bits, settings_.max_weight(), max_quantize_bits,
                              settings_.scale ? " smaller" : "n", option_name<"impact-scale">),
                  true);
  if (scaled != std::floor(scaled))
    return refuse(fmt::format("weights must be whole numbers; use {} X to store weight * X, rounded",
                              option_name<"impact-scale">),
                  true);
  return static_cast<std::uint32_t>(scaled);
}

void DocumentWeights::note_problem(std::string_view term, const std::string& why, bool needs_options) {
  if (!problem_.why.empty()) return;
  problem_ = {fmt::format("its term {} {}", quoted_start(term), why), needs_options};
}

void DocumentWeights::note_term(std::string_view term) {
  const Hash128 hash = xxh3_128(as_bytes(term));
  if (!sorted_) {
    terms_.push_back(hash);
    if (terms_.size() < max_kept_terms) return;
    sorted_.emplace(scratch_.tmp_folder, sorting_bytes);
    for (const Hash128& kept : terms_) sorted_->add(SortKey(kept.low, kept.high).view(), {});
    terms_ = {};
    return;
  }
  sorted_->add(SortKey(hash.low, hash.high).view(), {});
}

std::string DocumentWeights::repeated_hash() {
  std::string repeated, last;  // no hash is empty
  if (!sorted_) {
    std::sort(terms_.begin(), terms_.end());
    const auto found = std::adjacent_find(terms_.begin(), terms_.end());
    return found == terms_.end() ? repeated : std::string(SortKey(found->low, found->high).view());
  }
  sorted_->merge([&](std::string_view hash, ByteView) {
    if (hash == last) repeated = hash;
    last = hash;
  });
  return repeated;
}

std::string DocumentWeights::kept_term(std::string_view hash) const {
  std::string found;
  out_.weights.for_each([&](std::string_view term, std::uint32_t) {
    const Hash128 other = xxh3_128(as_bytes(term));
    if (SortKey(other.low, other.high).view() == hash) found = term;
  });
  return found;
}

WeightsProblem DocumentWeights::finish() {
  if (!problem_.why.empty()) return problem_;
  if (const std::string repeated = repeated_hash(); !repeated.empty()) {
    const std::string term = kept_term(repeated);
    return {term.empty() ? "it has two weights for one term" : "its term " + quoted_start(term) + " has two weights"};
  }
  if (sum_ > std::numeric_limits<std::uint32_t>::max()) return {"its weights add up to more than 2^32 - 1"};
  return {};
}

}  // namespace quern
