#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
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

}  // namespace quern::python
