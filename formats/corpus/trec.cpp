#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cstring>

#include "quern/formats/corpus/corpus_format.hpp"
#include "quern/formats/corpus/document_fields.hpp"
#include "quern/formats/corpus/http_body.hpp"
#include "quern/formats/corpus/record_finder.hpp"
#include "quern/text/html_scanner.hpp"
#include "quern/text/references.hpp"
#include "quern/text/sgml_tag.hpp"
#include "quern/text/text_block.hpp"
#include "quern/text/utf8.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace quern {
namespace {

/// The longest mark: "</DOC>", or "<DOC" and the byte after it. Marks must be complete to be recognised.
constexpr std::size_t max_mark_bytes = 6;

/// Limit of blanks skipped after "</DOC>".
constexpr std::size_t max_blanks = 64;

bool is_doc_start(std::string_view text) {
  return text.size() > 4 && (text[4] == '>' || is_ascii_space(text[4])) && starts_with_ignoring_case(text, "<doc");
}

bool is_doc_end(std::string_view text) { return starts_with_ignoring_case(text, "</doc>"); }

#if defined(__AVX2__)
/// Finds the first "<do" or "</do", in any case, in [from, end). Returns a position at or after `end` or `from` if
/// there is none. A mark's bytes and a block more must follow each position.
std::size_t find_mark(std::string_view window, std::size_t from, std::size_t end) {
  constexpr std::size_t block_bytes = 32;
  static_assert(block_bytes + 3 <= max_mark_bytes + max_blanks);
  const auto is = [](const char* bytes, char wanted, char ignored_bits) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
    return _mm256_cmpeq_epi8(_mm256_or_si256(block, _mm256_set1_epi8(ignored_bits)), _mm256_set1_epi8(wanted));
  };
  constexpr char case_bit = 0x20;
  std::size_t at = from;
  for (; at < end; at += block_bytes) {
    const char* bytes = window.data() + at;
    const __m256i start = _mm256_and_si256(is(bytes + 1, 'd', case_bit), is(bytes + 2, 'o', case_bit));
    const __m256i stop = _mm256_and_si256(is(bytes + 1, '/', 0),
                                          _mm256_and_si256(is(bytes + 2, 'd', case_bit), is(bytes + 3, 'o', case_bit)));
    const __m256i found = _mm256_and_si256(is(bytes, '<', 0), _mm256_or_si256(start, stop));
    const auto bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(found));
    if (bits != 0) return at + static_cast<std::size_t>(std::countr_zero(bits));
  }
  return at;
}
#else
std::size_t find_mark(std::string_view, std::size_t from, std::size_t) { return from; }
#endif

class TrecRecordFinder : public RecordFinder {
 public:
  using RecordFinder::RecordFinder;

 protected:
  Step scan(std::string_view window, std::size_t from, bool last) override {
    for (std::size_t at = from;;) {
      if (in_comment_) {
        at = behind_comment(window, at);
        if (in_comment_) return comment_ran_out(window, at, last);
      }
      if (!in_record() && has_ended_record_ && !text_reported_) {
        const std::size_t text = text_between_records(window, at);
        if (text_reported_) return {Step::junk, text, text, "text outside of records after </DOC>"};
      }
      if (in_record()) at = skip_to_mark(window, at);
      const void* found = at < window.size() ? std::memchr(window.data() + at, '<', window.size() - at) : nullptr;
      if (!found) return {Step::ran_out, window.size(), 0, nullptr};
      at = static_cast<std::size_t>(static_cast<const char*>(found) - window.data());
      const std::string_view here = window.substr(at);
      if (here.size() < max_mark_bytes + max_blanks && !last && may_be_mark(here))
        return {Step::ran_out, at, 0, nullptr};
      if (is_doc_start(here)) {
        if (!in_record()) return {Step::begins, at, at + 4, nullptr};
        // A record begins on a line inside another: the end tag is missing.
        if (at > 0 && window[at - 1] == '\n') return end_record(at);
      } else if (is_doc_end(here)) {
        if (!in_record()) {
          in_tag_ = false;
          return {Step::junk, at, at + max_mark_bytes, "</DOC> without a matching <DOC>: a record is damaged"};
        }
        if (ends_record(here.substr(max_mark_bytes))) return end_record(at + max_mark_bytes);
      } else if (!in_record() && here.substr(0, 4) == "<!--") {
        in_comment_ = true;
        in_tag_ = false;
        at += 3;
      } else if (!in_record()) {
        in_tag_ = begins_tag(here);
      }
      ++at;
    }
  }

 private:
  /// Skips to a possible mark, or so near to the window's end that a mark may be incomplete.
  static std::size_t skip_to_mark(std::string_view window, std::size_t from) {
    constexpr std::size_t near_end = max_mark_bytes + max_blanks;
    return window.size() > near_end ? find_mark(window, from, window.size() - near_end) : from;
  }

  static bool may_be_mark(std::string_view here) {
    return here.size() < 3 || (here[1] | 0x20) == 'd' || here[1] == '/' || here[1] == '!';
  }

  Step end_record(std::size_t at) {
    has_ended_record_ = true;
    text_reported_ = in_tag_ = false;
    return {Step::ends, at, 0, nullptr};
  }

  /// Scans what follows a record, up to the next '<'. If text outside of tags is there, sets text_reported_ and returns
  /// its position.
  std::size_t text_between_records(std::string_view window, std::size_t from) {
    std::size_t at = from;
    for (; at < window.size() && window[at] != '<'; ++at) {
      if (in_tag_) {
        in_tag_ = window[at] != '>';
      } else if (!is_padding(window[at])) {
        text_reported_ = true;
        return at;
      }
    }
    return at;
  }

  static bool begins_tag(std::string_view here) {
    return here.size() > 1 && (is_ascii_letter(here[1]) || here[1] == '/' || here[1] == '!' || here[1] == '?');
  }

  /// White space, control characters that old systems put at the end of files, a byte order mark.
  static bool is_padding(char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == '\xEF' || c == '\xBB' || c == '\xBF';
  }

  /// A page may contain "</DOC>" too. After a record's end, only a comment, the next record or the end tags of elements
  /// around the records may follow on the line.
  static bool ends_record(std::string_view after) {
    std::size_t at = 0;
    while (at < after.size() && at < max_blanks - max_mark_bytes && (after[at] == ' ' || after[at] == '\t')) ++at;
    const std::string_view next = after.substr(at, max_blanks - at);
    return next.empty() || is_ascii_space(next[0]) || is_doc_start(next) || next.substr(0, 4) == "<!--" ||
           is_enclosing_end(next);
  }

  /// Whether an end tag begins here that isn't HTML's.
  static bool is_enclosing_end(std::string_view text) {
    const std::size_t end = text.find('>');
    if (!text.starts_with("</") || end == std::string_view::npos) return false;
    const std::string_view name = text.substr(2, end - 2);
    return !name.empty() && is_ascii_letter(name[0]) && tag_kind(name) == TagKind::inline_text;
  }

  /// Sets in_comment_ to false if the comment ends in the window.
  std::size_t behind_comment(std::string_view window, std::size_t from) {
    const std::size_t end = window.find("-->", from);
    in_comment_ = end == std::string_view::npos;
    return in_comment_ ? from : end + 3;
  }

  Step comment_ran_out(std::string_view window, std::size_t from, bool last) {
    const std::size_t kept = 2;  // of a "-->" that may be cut here
    const std::size_t at = window.size() > from + kept ? window.size() - kept : from;
    if (!last) return {Step::ran_out, at, 0, nullptr};
    in_comment_ = false;
    return {Step::junk, window.size(), window.size(), "the file ends inside a comment"};
  }

  bool in_comment_ = false;
  bool has_ended_record_ = false;
  bool text_reported_ = false;  ///< text after the last record was reported
  bool in_tag_ = false;         ///< inside a tag outside of records
};

/// Whether a file that begins with `head` begins with a TREC record, after white space, a byte order mark, comments,
/// declarations and the start tags of enclosing elements.
bool begins_with_trec_record(std::string_view head) {
  if (head.substr(0, 3) == "\xEF\xBB\xBF") head.remove_prefix(3);
  SgmlTagScanner tags(head);
  SgmlTag tag;
  for (std::size_t at = 0; tags.next(at, tag); at = tag.end) {
    if (!trim(head.substr(at, tag.begin - at)).empty()) return false;
    if (equals_ignoring_case(tag.name, "doc") && !tag.closing) return true;
    // Skip an element around all records, but not an HTML page.
    if (tag.closing || equals_ignoring_case(tag.name, "html")) return false;
  }
  return false;
}

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

/// The parts of a record before the page, as views of its head.
struct Parts {
  bool has_docno = false;
  std::string_view docno;
  std::string_view header;
  std::size_t page_begin = 0;  ///< offset in the record
};

/// Splits the text after <DOCHDR> into header and page. A header without an end tag ends before the first line that
/// begins with a tag.
void split_behind_dochdr(std::string_view head, std::size_t begin, SgmlTagScanner& tags, Parts& parts) {
  std::size_t end = std::min(head.find("\n<", begin), head.size());
  std::size_t page_begin = end;
  SgmlTag tag;
  for (std::size_t at = begin; tags.next(at, tag); at = tag.end) {
    if (!equals_ignoring_case(tag.name, "dochdr")) continue;
    end = tag.begin;
    page_begin = tag.end;
    break;
  }
  parts.header = head.substr(begin, end - begin);
  parts.page_begin = page_begin;
}

bool begins_page(const SgmlTag& tag) {
  return equals_ignoring_case(tag.name, "html") || equals_ignoring_case(tag.name, "body");
}

/// Reads the tags up to DOCHDR, or up to the page if there is none.
Parts split_trecweb(std::string_view head) {
  Parts parts;
  SgmlTagScanner tags(head);
  SgmlTag tag;
  bool is_docno_open = false;
  for (std::size_t at = 0; tags.next(at, tag) && !begins_page(tag); at = tag.end) {
    if (equals_ignoring_case(tag.name, "dochdr") && !tag.closing) {
      split_behind_dochdr(head, tag.end, tags, parts);
      break;
    }
    if (!equals_ignoring_case(tag.name, "docno")) continue;
    if (!tag.closing && !parts.has_docno) {
      const std::size_t end = std::min(head.find('<', tag.end), head.size());
      parts.docno = head.substr(tag.end, end - tag.end);
      parts.page_begin = end;
      parts.has_docno = is_docno_open = true;
    } else if (tag.closing && is_docno_open) {
      parts.page_begin = tag.end;
      is_docno_open = false;
    }
  }
  return parts;
}

/// The first word of the first non-empty line, if it is a URL: WT10g puts IP address, date, type and size after it.
std::string_view url_of(std::string_view& header) {
  std::string_view line;
  while (line.empty() && !header.empty()) line = trim(take_line(header));
  const std::string_view word = line.substr(0, line.find_first_of(" \t"));
  const bool is_url = word.find("://") != std::string_view::npos || starts_with_ignoring_case(word, "www.");
  return is_url ? word : std::string_view();
}

/// The end of the page that begins at `begin`: without trailing white space and the record's end tag, which isn't HTML.
std::uint64_t page_end(const RecordText& record, std::uint64_t begin) {
  constexpr std::string_view end_tag = "</doc>";
  const std::uint64_t end = record.trimmed_end(begin, record.size());
  if (end - begin < end_tag.size()) return end;
  std::array<char, end_tag.size()> last;
  record.read_at(end - last.size(), last);
  return equals_ignoring_case({last.data(), last.size()}, end_tag) ? end - last.size() : end;
}

/// A text without leading white space.
class TrimmedPieces final : public PieceSource {
 public:
  explicit TrimmedPieces(PieceSource& from) : from_(&from) {}
  std::string_view next() override {
    std::string_view piece = from_->next();
    while (!has_begun_ && !piece.empty()) {
      while (!piece.empty() && is_ascii_space(piece.front())) piece.remove_prefix(1);
      has_begun_ = !piece.empty();
      if (!has_begun_) piece = from_->next();
    }
    return piece;
  }

 private:
  PieceSource* from_;
  bool has_begun_ = false;
};

bool is_trecweb(std::string_view head) {
  if (!begins_with_trec_record(head)) return false;
  SgmlTagScanner tags(head);
  SgmlTag tag;
  for (std::size_t at = 0; tags.next(at, tag); at = tag.end)
    if (equals_ignoring_case(tag.name, "dochdr")) return true;
  return false;
}

ParsedRecord parse_trecweb(const RecordText& record, RecordScratch& scratch, DocumentText& out) {
  out.clear();
  ParsedRecord result;
  Parts parts = split_trecweb(record.head());
  if (!parts.has_docno) return bad_record("it has no <DOCNO>");
  if (!set_docno(parts.docno, scratch, out, result)) return result;
  set_url(url_of(parts.header), scratch, out);
  const auto pieces = record.pieces(parts.page_begin, page_end(record, parts.page_begin));
  TrimmedPieces page(*pieces);
  extract_html(page, parse_http_headers(parts.header).content_type, scratch, out);
  return result;
}

}  // namespace

const CorpusFormat trectext_format = {
    .name = "trectext",
    .description = "TREC text: <DOC> with <DOCNO>, <TITLE>, <TEXT>",
    .detect = begins_with_trec_record,
    .make_finder = make_record_finder<TrecRecordFinder>,
    .parse = parse_trectext,
    .text_place = [](const RecordScratch&) { return fmt::format("in its elements {}", fmt::join(body_names, ", ")); },
    .unread_part = "element"};

const CorpusFormat trecweb_format = {"trecweb", "TREC web pages: <DOC> with <DOCNO>, <DOCHDR>, HTML", is_trecweb,
                                     make_record_finder<TrecRecordFinder>, parse_trecweb};

}  // namespace quern
