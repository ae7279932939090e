#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <quern/api/work.hpp>

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

/// The terms of a dict {term: weight}, which it keeps: may be read without the GIL.
class TermVector {
 public:
  TermVector() = default;
  /// Raises TypeError if it is no dict of str and numbers.
  explicit TermVector(const nanobind::object& vector);
  std::span<const api::WeightedTerm> view() const { return terms_; }

 private:
  std::vector<nanobind::object> kept_;  ///< the terms, also if somebody changes the dict
  std::vector<api::WeightedTerm> terms_;
};

/// A list of such dicts.
class TermVectors {
 public:
  /// Raises TypeError if one is something else.
  explicit TermVectors(const nanobind::list& vectors) {
    for (const nanobind::handle vector : vectors) {
      const TermVector& read = kept_.emplace_back(nanobind::borrow(vector));
      terms_.emplace_back(read.view().begin(), read.view().end());
    }
  }
  const std::vector<std::vector<api::WeightedTerm>>& terms() const { return terms_; }

 private:
  std::vector<TermVector> kept_;
  std::vector<std::vector<api::WeightedTerm>> terms_;
};

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
