#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

/// Tags, references and comments of SGML and XML, read forgivingly and in linear time.
namespace quern {

struct Tag {
  std::string_view name;
  std::string_view attributes;
  bool closing = false;
  std::size_t begin = 0, end = 0;  ///< its place in the text, with both brackets
};

/// Walks over the tags of a text, past comments and CDATA sections. A '<' that opens no tag ("a < b") is text.
class TagScanner {
 public:
  explicit TagScanner(std::string_view text) : text_(text) {}
  std::optional<Tag> next();

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// What stands between two tags: references resolved (numbers and amp, lt, gt, quot, apos, nbsp; others stay as they
/// are), comments dropped, CDATA sections opened, each run of white space one space, none at the ends.
std::string field_text(std::string_view raw);

/// The value of an attribute, as field_text(); empty where the tag hasn't got it.
std::string attribute_value(std::string_view attributes, std::string_view wanted);

/// Equal but for ASCII case.
bool same_word(std::string_view a, std::string_view b);

}  // namespace quern
