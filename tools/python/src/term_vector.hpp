#pragma once
#include <nanobind/nanobind.h>
#include <quern/api/weighted_term.hpp>

#include <span>
#include <vector>

namespace quern::python {

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

}  // namespace quern::python
