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
/// first '>'. Taken over all tags of a text, time is linear.
class SgmlTagScanner {
 public:
  explicit SgmlTagScanner(std::string_view text) : text_(text) {}
  bool next(std::size_t from, SgmlTag& tag);

 private:
  std::size_t comment_end(std::size_t begin);
  bool read(std::size_t begin, SgmlTag& tag);

  std::string_view text_;
  bool no_comment_ends_ = false;  ///< learnt once, so that unclosed comments can't cost a search each
};

/// The value of an attribute, with or without quotes; empty if it isn't there.
std::string_view sgml_attribute(std::string_view attributes, std::string_view lower_case_name);

}  // namespace quern
