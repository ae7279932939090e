#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"

/// What all corpus formats do alike with the fields of a document.
namespace quern {

/// Longer docnos make a record bad, longer URLs are dropped.
inline constexpr std::size_t max_field_bytes = 65535;

ParsedRecord bad_record(std::string reason);
ParsedRecord skipped_record(std::string reason);

/// A record whose docno has more than max_field_bytes.
ParsedRecord docno_too_long(std::uint64_t docno_bytes);

/// Sets out.docno, trimmed and repaired. False, with `problem` set, where it is empty, longer than max_field_bytes, or
/// holds a control character (a run is lines).
bool set_docno(std::string_view docno, RecordScratch& scratch, DocumentText& out, ParsedRecord& problem);

/// Sets out.url, trimmed and repaired; leaves it empty if the URL is longer than max_field_bytes or holds a control
/// character.
void set_url(std::string_view url, RecordScratch& scratch, DocumentText& out);

/// Appends the value of the kept field `name`. False, with `problem` set, if it is a text of more bytes than can be
/// kept.
bool keep_text(std::string_view name, std::string_view text, std::uint64_t size, DocumentText& out,
               ParsedRecord& problem);
/// A record whose kept field is an array or an object.
ParsedRecord not_a_kept_value(std::string_view name);

/// Calls visit(std::string_view) for consecutive pieces of the text, repaired and counted.
void for_each_repaired(PieceSource& text, RecordScratch& scratch, const std::function<void(std::string_view)>& visit);

/// Appends text without markup, repaired: an empty line ends a phrase.
void append_plain_text(PieceSource& text, RecordScratch& scratch, SpooledText& out);
void append_plain_text(std::string_view text, RecordScratch& scratch, SpooledText& out);

/// Ends the phrase in a stream that a new section is to be appended to.
void end_phrase(SpooledText& stream);

/// Takes title, text and links out of a page. Its bytes are in the charset that the page, or the HTTP header
/// Content-Type, names; `html` must not lie in scratch.text or scratch.converted.
void extract_html(PieceSource& html, std::string_view http_content_type, RecordScratch& scratch, DocumentText& out);
void extract_html(std::string_view html, std::string_view http_content_type, RecordScratch& scratch, DocumentText& out);

/// The same for a page without markup (text/plain): one body.
void extract_plain_page(PieceSource& page, std::string_view http_content_type, RecordScratch& scratch,
                        DocumentText& out);
void extract_plain_page(std::string_view page, std::string_view http_content_type, RecordScratch& scratch,
                        DocumentText& out);

/// What is wrong with a document's weights.
struct WeightsProblem {
  std::string why;             ///< empty: nothing
  bool needs_options = false;  ///< as ParsedRecord has it
};

/// Takes the weights that a corpus gives for a document's terms: checks them, makes whole numbers of them, and refuses
/// a document that has a term twice. Of any number of terms it keeps some in memory, and a work file.
class DocumentWeights {
 public:
  /// `scratch` has the settings of weights.
  DocumentWeights(const RecordScratch& scratch, DocumentText& out);

  /// The next term, valid UTF-8, of which longer ones than max_term_bytes may be cut; `term_bytes` is its size.
  void add(std::string_view term, std::uint64_t term_bytes, double weight);
  /// The same if its weight is no number.
  void add_without_weight(std::string_view term) { note_problem(term, "has no number as weight"); }
  /// Ends the document.
  WeightsProblem finish();

 private:
  void note_problem(std::string_view term, const std::string& why, bool needs_options = false);
  /// The whole number that stands for a weight; 0 if there is none, which becomes the problem.
  std::uint32_t whole_weight(std::string_view term, double weight);
  void note_term(std::string_view term);
  bool has_repeated_term();

  const RecordScratch& scratch_;
  const ImpactSettings settings_;
  DocumentText& out_;
  WeightsProblem problem_;
  std::uint64_t sum_ = 0;
  std::vector<Hash128> terms_;          ///< as long as they are few
  std::optional<ExternalSort> sorted_;  ///< then
};

}  // namespace quern
