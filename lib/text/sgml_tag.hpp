#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace quern {

/// A tag of the loose SGML that TREC collections are written in, or a comment.
struct SgmlTag {
  std::string_view name;        ///< as written; empty for a comment or declaration
  std::string_view attributes;  ///< what stands between name and '>'
  bool closing = false;
  std::size_t begin = 0;  ///< of the '<'
  std::size_t end = 0;    ///< just after the '>'
};

/// Finds the next tag, comment or declaration of `text` at or after `from`; false if there is none. A '<' that no
/// letter, '/', '!' or '?' follows, or no '>' before the next '<', is text. A comment that doesn't end reaches to its
/// first '>'. What has more than max_tag_bytes has no end. Taken over all tags of a text, time is linear.
class SgmlTagScanner {
 public:
  static constexpr std::size_t max_tag_bytes = std::size_t{1} << 20;

  explicit SgmlTagScanner(std::string_view text = {}) : text_(text) {}
  bool next(std::size_t from, SgmlTag& tag);

  /// For a text of which only a window is in memory: goes on to a window that begins `passed` bytes after the one
  /// before. Unless the text `ends` there, next() may not know whether a '<' begins a tag.
  void move(std::size_t passed, std::string_view window, bool ends);
  /// The '<' because of which next() gave false, which more of the text would decide; npos if there is none.
  std::size_t undecided() const { return undecided_; }

 private:
  bool read(std::size_t begin, SgmlTag& tag);
  std::size_t comment_end(std::size_t begin);
  bool is_undecided(std::size_t begin);

  std::string_view text_;
  bool ends_ = true;
  std::size_t undecided_ = std::string_view::npos;
  /// Where the next "-->" is known to be, or up to where there is none: learnt once, so that unclosed comments can't
  /// cost a search each.
  std::size_t comment_end_ = 0;
};

/// The value of an attribute, with or without quotes; empty if it isn't there.
std::string_view sgml_attribute(std::string_view attributes, std::string_view lower_case_name);

}  // namespace quern
