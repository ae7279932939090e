#include "quern/synth/document_names.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace quern {
namespace {

/// The last of the starts that is not behind the document.
std::size_t place_of(std::span<const docid_t> starts, docid_t document) {
  return static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), document) - starts.begin()) - 1;
}

}  // namespace

std::string DocumentNames::docno(docid_t document) {
  std::string docno;
  append_docno(document, docno);
  return docno;
}

void DocumentNames::append_docno(docid_t document, std::string& text) {
  constexpr std::size_t digits = 9;
  const fmt::format_int number(document);
  text += 'S';
  text.append(digits - std::min(digits, number.size()), '0');
  text.append(number.data(), number.size());
}

std::size_t DocumentNames::site(docid_t document) const { return place_of(tree_.site_starts(), document); }

std::size_t DocumentNames::leaf(docid_t document) const { return place_of(tree_.leaf_starts(), document); }

std::string DocumentNames::url(docid_t document) const {
  const std::size_t leaf = this->leaf(document);
  return fmt::format("http://s{:07}.example/d{:07}/p{:02}.html", site(document), leaf,
                     document - tree_.leaf_starts()[leaf]);
}

}  // namespace quern
