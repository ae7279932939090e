#include "quern/formats/corpus/trec_record_finder.hpp"

#include <bit>
#include <cstring>

#include "quern/core/bytes.hpp"
#include "quern/text/html_scanner.hpp"
#include "quern/text/sgml_tag.hpp"

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

}  // namespace

std::unique_ptr<RecordFinder> make_trec_record_finder(const RecordLimits& limits) {
  return std::make_unique<TrecRecordFinder>(limits);
}

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

}  // namespace quern
