#include <algorithm>
#include <array>

#include "quern/core/bytes.hpp"
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/record_finder.hpp"
#include "quern/text/references.hpp"
#include "quern/text/sgml_tag.hpp"
#include "quern/text/text_block.hpp"

namespace quern {
namespace {

constexpr std::array<std::string_view, 6> title_names = {"title", "headline", "head", "hl", "ti", "ttl"};
constexpr std::array<std::string_view, 7> body_names = {"text",    "leadpara", "lp",      "body",
                                                        "content", "contents", "abstract"};

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view one) { return equals_ignoring_case(name, one); });
}

/// Limit of a character reference's bytes.
constexpr std::size_t max_reference_bytes = 16;

/// Walks over one record's tags and sends the text between them to the right section.
class RecordWalk {
 public:
  explicit RecordWalk(DocumentText& out) : out_(out) {}

  void append(std::string_view piece) {
    window_.append(piece, [this](std::string_view window) { return walk(window, false); });
  }
  void finish() {
    window_.finish([this](std::string_view window) { return walk(window, true); });
    end_docno();
  }
  /// The docno; if there is none, the id attribute of <DOC>.
  const std::string& docno() const { return docno_.empty() ? doc_id_ : docno_; }

 private:
  /// Reads the sections as far as the window allows; returns how far.
  std::size_t walk(std::string_view window, bool ends) {
    tags_.move(passed_, window, ends);
    passed_ = 0;
    for (SgmlTag tag; tags_.next(passed_, tag); passed_ = tag.end) {
      put_text(window.substr(passed_, tag.begin - passed_));
      end_docno();
      if (!tag.name.empty()) meet(tag);
    }
    std::string_view text = window.substr(passed_, std::min(tags_.undecided(), window.size()) - passed_);
    if (!ends) text = without_open_reference(text);
    put_text(text);
    return passed_ += text.size();
  }

  static std::string_view without_open_reference(std::string_view text) {
    const std::size_t from = text.size() - std::min(text.size(), max_reference_bytes);
    return text.substr(0, text.find('&', from));
  }

  void meet(const SgmlTag& tag) {
    if (is_one_of(body_names, tag.name)) {
      enter(tag, &out_.body);
    } else if (is_one_of(title_names, tag.name)) {
      enter(tag, &out_.title);
    } else if (equals_ignoring_case(tag.name, "docno")) {
      in_docno_ = !tag.closing;
      section_ = nullptr;
    } else if (equals_ignoring_case(tag.name, "doc")) {
      if (doc_id_.empty()) doc_id_ = sgml_attribute(tag.attributes, "id");
      section_ = nullptr;
    } else if (section_) {
      in_docno_ = false;
      if (equals_ignoring_case(tag.name, "p"))
        end_phrase(*section_);
      else
        *section_ += ' ';
    } else {
      in_docno_ = false;
    }
  }

  void enter(const SgmlTag& tag, SpooledText* section) {
    in_docno_ = false;
    section_ = tag.closing ? nullptr : section;
    if (section_) end_phrase(*section_);
  }

  void put_text(std::string_view text) {
    if (in_docno_ && docno_text_.size() < RecordText::max_in_memory) docno_text_ += text;
    if (!section_) return;
    plain_.clear();
    append_without_references(text, plain_);
    section_->append(plain_);
  }

  void end_docno() {
    if (docno_.empty()) docno_ = trim(docno_text_);
    docno_text_.clear();
  }

  DocumentText& out_;
  TextWindow window_;
  SgmlTagScanner tags_;
  std::size_t passed_ = 0;  ///< bytes of the window that are finished
  std::string docno_text_;  ///< the text of DOCNO since the last tag
  std::string docno_;
  std::string doc_id_;
  bool in_docno_ = false;
  std::string plain_;               ///< text without its references
  SpooledText* section_ = nullptr;  ///< where text goes now; null: discarded
};

ParsedRecord parse_trectext(const RecordText& record, RecordScratch& scratch, DocumentText& out) {
  out.clear();
  RecordWalk walk(out);
  for_each_repaired(*record.pieces(), scratch, [&](std::string_view piece) { walk.append(piece); });
  walk.finish();
  ParsedRecord result;
  if (walk.docno().empty()) return bad_record("it has no <DOCNO>");
  set_docno(walk.docno(), scratch, out, result);
  return result;
}

}  // namespace

const CorpusFormat trectext_format = {"trectext", "TREC text: <DOC> with <DOCNO>, <TITLE>, <TEXT>",
                                      begins_with_trec_record, make_trec_record_finder, parse_trectext};

}  // namespace quern
