#include <algorithm>
#include <array>

#include "quern/core/ascii_text.hpp"
#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/record_finder.hpp"
#include "quern/text/references.hpp"
#include "quern/text/sgml_tag.hpp"
#include "quern/text/utf8.hpp"

namespace quern {
namespace {

constexpr std::array<std::string_view, 6> title_names = {"title", "headline", "head", "hl", "ti", "ttl"};
constexpr std::array<std::string_view, 7> body_names = {"text",    "leadpara", "lp",      "body",
                                                        "content", "contents", "abstract"};

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view one) { return equals_ignoring_case(name, one); });
}

/// Walks over the tags of one record and sends the text between them where it belongs.
class RecordWalk {
 public:
  RecordWalk(std::string_view record, DocumentText& out) : record_(record), tags_(record), out_(out) {}

  /// Takes the sections; gives the docno, or the id of <DOC>.
  std::string_view run() {
    std::size_t at = 0;
    for (SgmlTag tag; tags_.next(at, tag); at = tag.end) {
      put_text(record_.substr(at, tag.begin - at));
      if (!tag.name.empty()) meet(tag);
    }
    put_text(record_.substr(at));
    return docno_.empty() ? doc_id_ : docno_;
  }

 private:
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
      if (equals_ignoring_case(tag.name, "p")) {
        end_phrase(*section_);
      } else {
        *section_ += ' ';
      }
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
    if (in_docno_ && docno_.empty()) docno_ = trim(text);
    if (!section_) return;
    plain_.clear();
    append_without_references(text, plain_);
    section_->append(plain_);
  }

  std::string_view record_;
  SgmlTagScanner tags_;
  DocumentText& out_;
  std::string_view docno_;
  std::string_view doc_id_;
  bool in_docno_ = false;
  std::string plain_;               ///< text without its references
  SpooledText* section_ = nullptr;  ///< where text goes now; null: nowhere
};

class TrecTextFormat : public CorpusFormat {
 public:
  std::string_view name() const override { return "trectext"; }
  std::string_view description() const override { return "TREC text: <DOC> with <DOCNO>, <TITLE>, <TEXT>"; }
  bool detect(std::string_view head) const override { return begins_with_trec_record(head); }
  std::unique_ptr<RecordFinder> make_finder(const RecordLimits& limits) const override {
    return make_trec_record_finder(limits);
  }

  ParsedRecord parse(const RecordText& text, RecordScratch& scratch, DocumentText& out) const override {
    const std::string_view record = text.head();
    out.clear();
    scratch.repaired_utf8 += repair_utf8(record, scratch.converted);
    ParsedRecord result;
    const std::string_view docno = RecordWalk(scratch.converted, out).run();
    if (docno.empty()) return bad_record("it has no <DOCNO>");
    set_docno(docno, scratch, out, result);
    return result;
  }
};

}  // namespace

const CorpusFormat& trectext_format() {
  static const TrecTextFormat format;
  return format;
}

}  // namespace quern
