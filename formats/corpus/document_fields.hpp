#pragma once
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"

/// Handling of document fields that all corpus formats share.
namespace quern {

/// A longer docno makes a record bad; a longer URL is dropped.
inline constexpr std::size_t max_field_bytes = 65535;

ParsedRecord bad_record(std::string reason);
ParsedRecord skipped_record(std::string reason);

/// Reports a docno longer than max_field_bytes.
ParsedRecord docno_too_long(std::uint64_t docno_bytes);

/// Sets out.docno, trimmed and repaired. Returns false and sets `problem` if it is empty, longer than max_field_bytes,
/// or contains a control character, which would break the lines of a run.
bool set_docno(std::string_view docno, RecordScratch& scratch, DocumentText& out, ParsedRecord& problem);

/// Sets out.url, trimmed and repaired; leaves it empty if the URL is longer than max_field_bytes or contains a control
/// character.
void set_url(std::string_view url, RecordScratch& scratch, DocumentText& out);

/// Appends the value of the kept field `name`. Returns false and sets `problem` if the text is too long to be kept.
bool keep_text(std::string_view name, std::string_view text, std::uint64_t size, DocumentText& out,
               ParsedRecord& problem);
/// Reports a kept field that is an array or an object.
ParsedRecord not_a_kept_value(std::string_view name);

/// Calls visit(std::string_view) with consecutive pieces of the text, converted from `charset`, repaired and counted.
void for_each_repaired(PieceSource& text, std::string_view charset, RecordScratch& scratch,
                       const std::function<void(std::string_view)>& visit);

/// Appends text without markup, repaired: an empty line ends a phrase.
void append_plain_text(PieceSource& text, RecordScratch& scratch, SpooledText& out);
void append_plain_text(std::string_view text, RecordScratch& scratch, SpooledText& out);

/// Ends the last phrase of a stream before a new section.
void end_phrase(SpooledText& stream);

/// Extracts title, text and links from a page. The charset is the one that the page or the HTTP header Content-Type
/// names; `html` must not lie in scratch.text or scratch.converted.
void extract_html(PieceSource& html, std::string_view http_content_type, RecordScratch& scratch, DocumentText& out);

/// Appends a page without markup (text/plain) to the body.
void extract_plain_page(PieceSource& page, std::string_view http_content_type, RecordScratch& scratch,
                        DocumentText& out);

/// An error in a document's weights.
struct WeightsProblem {
  std::string why;             ///< empty: no error
  bool needs_options = false;  ///< see ParsedRecord
};

/// Checks the term weights of a document, rounds them to integers and refuses terms that occur twice. Uses constant
/// memory and a work file for any number of terms.
class DocumentWeights {
 public:
  /// `scratch` holds the weight settings.
  DocumentWeights(const RecordScratch& scratch, DocumentText& out);

  /// Adds a term in valid UTF-8. Terms longer than max_term_bytes may be truncated; `term_bytes` is the full size.
  void add(std::string_view term, std::uint64_t term_bytes, double weight);
  /// Reports a term whose weight is not a number.
  void add_without_weight(std::string_view term) { note_problem(term, "has a weight that isn't a number"); }
  /// Ends the document; returns its first error.
  WeightsProblem finish();

 private:
  void note_problem(std::string_view term, const std::string& why, bool needs_options = false);
  /// The weight as an integer; sets the problem and returns 0 if it has none.
  std::uint32_t whole_weight(std::string_view term, double weight);
  void note_term(std::string_view term);
  /// The hash of a term that occurs twice; empty if there is none.
  std::string repeated_hash();
  /// The term with this hash and a weight that isn't 0; empty if there is none.
  std::string kept_term(std::string_view hash) const;

  const RecordScratch& scratch_;
  const ImpactSettings settings_;
  DocumentText& out_;
  WeightsProblem problem_;
  std::uint64_t sum_ = 0;
  std::vector<Hash128> terms_;          ///< while there are few
  std::optional<ExternalSort> sorted_;  ///< if there are many
};

}  // namespace quern
