#pragma once
#include "quern/core/types.hpp"

namespace quern {

/// A tag or a comment in the loose SGML of TREC collections.
struct SgmlTag {
  std::string_view name;        ///< as written; empty for a comment, a CDATA section or a declaration
  std::string_view attributes;  ///< between name and '>'
  bool closing = false;
  std::size_t begin = 0;  ///< of the '<'
  std::size_t end = 0;    ///< just after the '>'
};

/// Finds the next tag, comment, CDATA section or declaration of `text` at or after `from`; false if there is none. A
/// '<' is text unless a letter, '/', '!' or '?' follows and a '>' comes before the next '<'. An unclosed comment or
/// section ends at its first '>'. A tag of more than max_tag_bytes is text. Scanning a whole text takes linear time.
class SgmlTagScanner {
 public:
  static constexpr std::size_t max_tag_bytes = std::size_t{1} << 20;

  explicit SgmlTagScanner(std::string_view text = {}) : text_(text) {}
  bool next(std::size_t from, SgmlTag& tag);

  /// For a text of which only a window is in memory: moves to a window that begins `passed` bytes after the previous
  /// one. Unless the text `ends` there, next() may leave a '<' undecided.
  void move(std::size_t passed, std::string_view window, bool ends);
  /// The position of the '<' that next() could not decide without more text; npos if there is none.
  std::size_t undecided() const { return undecided_; }

 private:
  bool read(std::size_t begin, SgmlTag& tag);
  std::size_t section_end(std::size_t section, std::size_t begin);
  bool is_undecided(std::size_t begin);

  std::string_view text_;
  bool ends_ = true;
  std::size_t undecided_ = std::string_view::npos;
  /// Positions of the next "-->" and "]]>", or the position up to which there is none: cached, so that unclosed
  /// comments and sections don't each cost a search.
  std::array<std::size_t, 2> section_ends_ = {};
};

/// An attribute's value, quoted or not; empty if missing.
std::string_view sgml_attribute(std::string_view attributes, std::string_view lower_case_name);

}  // namespace quern
