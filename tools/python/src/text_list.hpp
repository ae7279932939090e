#pragma once
#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

namespace quern::python {

/// The bytes of a str in UTF-8, valid as long as it. Raises TypeError for anything else, which `what` names, and
/// UnicodeEncodeError for lone surrogates.
std::string_view text_of(nanobind::handle object, const char* what);

/// Texts of a sequence of str, which it keeps: may be read without the GIL.
class TextList {
 public:
  TextList(const nanobind::object& texts, const char* what);
  const std::vector<std::string_view>& views() const { return views_; }

 private:
  nanobind::object kept_;  ///< a tuple, which nobody else changes
  std::vector<std::string_view> views_;
};

}  // namespace quern::python
