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

}  // namespace quern::python
