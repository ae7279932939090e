#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/trec_record_finder.hpp"
#include "quern/text/html_scanner.hpp"
#include "quern/text/references.hpp"
#include "quern/text/sgml_tag.hpp"
#include "quern/text/text_block.hpp"
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

/// Whether a tag formats a part of a word in HTML, and so in a section; outside of sections, <A> and <B> are elements.
bool is_word_part(std::string_view name) {
  const TagKind kind = tag_kind(name);
  return kind == TagKind::word_part || kind == TagKind::link;
}

/// Limit of a character reference's bytes.
constexpr std::size_t max_reference_bytes = 24;

/// Walks over one record's tags and sends the text between them to the right section. If no section holds a body, all
/// text outside of titles and the docno does.
class RecordWalk {
 public:
  RecordWalk(DocumentText& out, UnreadNames& unread) : out_(out), unread_(unread) {}

  void append(std::string_view piece) {
    window_.append(piece, [this](std::string_view window) { return walk(window, false); });
  }
  void finish() {
    window_.finish([this](std::string_view window) { return walk(window, true); });
    end_docno();
  }
  /// The docno; if there is none, the id attribute of <DOC>.
  const std::string& docno() const { return docno_.empty() ? doc_id_ : docno_; }
  /// The url attribute of <DOC>.
  const std::string& url() const { return url_; }
  bool has_body() const { return has_body_; }

 private:
  /// Reads the sections as far as the window allows; returns how far.
  std::size_t walk(std::string_view window, bool ends) {
    tags_.move(passed_, window, ends);
    passed_ = 0;
    pass_tags(tags_, window, passed_);
    std::string_view text = window.substr(passed_, std::min(tags_.undecided(), window.size()) - passed_);
    if (!ends) text = without_open_reference(text);
    put_text(text);
    return passed_ += text.size();
  }

  /// Reads the tags from `passed`, and the text before each; `passed` ends after the last.
  void pass_tags(SgmlTagScanner& tags, std::string_view window, std::size_t& passed) {
    for (SgmlTag tag; tags.next(passed, tag); passed = tag.end) {
      put_text(window.substr(passed, tag.begin - passed));
      end_docno();
      if (tag.name.empty())
        read_cdata(window.substr(tag.begin, tag.end - tag.begin));
      else
        meet(tag);
    }
  }

  /// Reads a CDATA section; skips comments and declarations. Most sections hold HTML, so tags and references count.
  void read_cdata(std::string_view section) {
    constexpr std::string_view begin = "<![CDATA[", end = "]]>";
    if (!section.starts_with(begin) || !section.ends_with(end)) return;
    const std::string_view content = section.substr(begin.size(), section.size() - begin.size() - end.size());
    SgmlTagScanner tags(content);
    std::size_t passed = 0;
    pass_tags(tags, content, passed);
    put_text(content.substr(passed));
  }

  static std::string_view without_open_reference(std::string_view text) {
    const std::size_t from = text.size() - std::min(text.size(), max_reference_bytes);
    return text.substr(0, text.find('&', from));
  }

  void meet(const SgmlTag& tag) {
    if (std::exchange(in_docno_, false)) section_ = outside_;
    if (is_one_of(body_names, tag.name)) {
      if (!tag.closing && !has_body_) begin_body();
      enter(tag, &out_.body);
    } else if (is_one_of(title_names, tag.name)) {
      enter(tag, &out_.title);
    } else if (equals_ignoring_case(tag.name, "docno")) {
      in_docno_ = !tag.closing;
      section_ = tag.closing ? outside_ : nullptr;
    } else if (equals_ignoring_case(tag.name, "doc")) {
      if (has_begun_)
        is_split_ = true;
      else
        begin(tag.attributes);
    } else {
      meet_other(tag);
    }
  }

  /// A tag that is neither a section's nor the docno's.
  void meet_other(const SgmlTag& tag) {
    const bool is_paragraph = equals_ignoring_case(tag.name, "p");
    if (section_ == outside_ && !tag.closing && !is_paragraph) unread_.add(tag.name);
    if (!section_ || (section_ != outside_ && is_word_part(tag.name))) return;
    if (is_paragraph)
      end_phrase(*section_);
    else
      *section_ += ' ';
  }

  /// Begins the record at its <DOC>.
  void begin(std::string_view attributes) {
    has_begun_ = true;
    doc_id_ = sgml_attribute(attributes, "id");
    append_without_references(sgml_attribute(attributes, "url"), url_);
    plain_.clear();
    append_without_references(sgml_attribute(attributes, "title"), plain_);
    out_.title += plain_;
    section_ = outside_ = &out_.body;
  }

  void begin_body() {
    has_body_ = true;
    outside_ = nullptr;
    out_.body.clear();
  }

  void enter(const SgmlTag& tag, SpooledText* section) {
    section_ = tag.closing ? outside_ : section;
    if (section_) end_phrase(*section_);
  }

  void put_text(std::string_view text) {
    if (in_docno_ && docno_text_.size() < RecordText::max_in_memory) docno_text_ += text;
    if (!section_ || text.empty()) return;
    plain_.clear();
    if (std::exchange(is_split_, false)) plain_ += ' ';
    append_without_references(text, plain_);
    section_->append(plain_);
  }

  void end_docno() {
    if (docno_.empty()) docno_ = trim(docno_text_);
    docno_text_.clear();
  }

  DocumentText& out_;
  UnreadNames& unread_;
  TextWindow window_;
  SgmlTagScanner tags_;
  std::size_t passed_ = 0;  ///< bytes of the window that are finished
  std::string docno_text_;  ///< the text of DOCNO since the last tag
  std::string docno_;
  std::string doc_id_, url_;
  bool in_docno_ = false, has_begun_ = false, has_body_ = false;
  bool is_split_ = false;           ///< <DOC> or </DOC> separates the next text from the last
  std::string plain_;               ///< text without its references
  SpooledText* section_ = nullptr;  ///< where text goes now; null: discarded
  SpooledText* outside_ = nullptr;  ///< where text outside of sections goes
};

ParsedRecord parse_sections(const RecordText& record, std::string_view charset, RecordScratch& scratch,
                            DocumentText& out) {
  out.clear();
  scratch.unread.clear();
  RecordWalk walk(out, scratch.unread);
  for_each_repaired(*record.pieces(), charset, scratch, [&](std::string_view piece) { walk.append(piece); });
  walk.finish();
  ParsedRecord result;
  if (walk.docno().empty()) return bad_record("it has no <DOCNO>");
  if (!set_docno(walk.docno(), scratch, out, result)) return result;
  set_url(walk.url(), scratch, out);
  if (!walk.has_body() && !scratch.unread.empty())
    result.remark = without_text(trectext_format, scratch, "indexed instead");
  return result;
}

/// Declarations may be wrong, so only a record that isn't UTF-8 is read as declared.
ParsedRecord parse_trectext(const RecordText& record, RecordScratch& scratch, DocumentText& out) {
  const std::uint64_t repaired_before = scratch.repaired_utf8;
  ParsedRecord parsed = parse_sections(record, "utf-8", scratch, out);
  if (scratch.repaired_utf8 == repaired_before) return parsed;
  std::string charset = html_charset({}, record.head().substr(0, charset_prescan_bytes));
  if (charset == "utf-8") charset = scratch.file_charset;
  if (charset == "utf-8") return parsed;
  scratch.repaired_utf8 = repaired_before;
  return parse_sections(record, charset, scratch, out);
}

}  // namespace

const CorpusFormat trectext_format = {
    .name = "trectext",
    .description = "TREC text: <DOC> with <DOCNO>, <TITLE>, <TEXT>",
    .detect = begins_with_trec_record,
    .make_finder = make_trec_record_finder,
    .parse = parse_trectext,
    .text_place = [](const RecordScratch&) { return fmt::format("in its elements {}", fmt::join(body_names, ", ")); },
    .unread_part = "element"};

}  // namespace quern
