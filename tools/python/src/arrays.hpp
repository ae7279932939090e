#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <quern/api/searcher.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::python {

template <class Number>
using Array = nanobind::ndarray<nanobind::numpy, Number, nanobind::ndim<1>, nanobind::c_contig>;

/// A numpy array that owns the vector's memory.
template <class Number>
Array<Number> to_array(std::vector<Number>&& numbers) {
  auto owned = std::make_unique<std::vector<Number>>(std::move(numbers));
  Number* const data = owned->data();
  const std::size_t size = owned->size();
  const nanobind::capsule owner(owned.release(),
                                [](void* held) noexcept { delete static_cast<std::vector<Number>*>(held); });
  return Array<Number>(data, {size}, owner);
}

/// The terms of a dict {term: weight}. Keeps them alive, so they may be read without the GIL.
class TermVector {
 public:
  TermVector() = default;
  /// Raises TypeError unless it is a dict of str and numbers.
  explicit TermVector(const nanobind::object& vector);
  std::span<const api::WeightedTerm> view() const { return terms_; }

 private:
  std::vector<nanobind::object> kept_;  ///< the terms, even if the dict changes
  std::vector<api::WeightedTerm> terms_;
};

/// The bytes of a str in UTF-8, valid as long as it. Raises TypeError for anything else, which `what` names, and
/// UnicodeEncodeError for lone surrogates.
std::string_view text_of(nanobind::handle object, const char* what);

/// The texts of a sequence of str. Keeps them alive, so they may be read without the GIL.
class TextList {
 public:
  TextList(const nanobind::object& texts, const char* what);
  const std::vector<std::string_view>& views() const { return views_; }

 private:
  nanobind::object kept_;  ///< a tuple, which no other code changes
  std::vector<std::string_view> views_;
};

/// Queries of a sequence of str, or of dicts of terms and weights, which it keeps: may be read without the GIL.
class QueryList {
 public:
  /// Raises TypeError if one is something else, or not of the kind of the first.
  explicit QueryList(const nanobind::object& queries);
  const std::vector<api::Query>& queries() const { return queries_; }

 private:
  nanobind::object kept_;
  std::vector<TermVector> vectors_;
  std::vector<api::Query> queries_;
};

}  // namespace quern::python
