#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "quern/formats/corpus/corpus_format.hpp"

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

}  // namespace quern
