#pragma once
#include <nanobind/nanobind.h>
#include <quern/api/quern.hpp>

#include <string>
#include <string_view>
#include <utility>

/// Values that Python gives by their names.
namespace quern::python {

/// The value that a name stands for. Raises ValueError, with all names, for another.
template <class Value, std::size_t count>
Value named(const std::pair<const char*, Value> (&names)[count], std::string_view name, const char* what) {
  std::string known;
  for (const auto& [text, value] : names) {
    if (name == text) return value;
    known += std::string(known.empty() ? "" : ", ") + text;
  }
  throw nanobind::value_error(
      ("unknown " + std::string(what) + " '" + std::string(name) + "': use one of " + known).c_str());
}

inline constexpr std::pair<const char*, api::Device> devices[] = {
    {"cpu", api::Device::cpu}, {"gpu", api::Device::gpu}, {"auto", api::Device::automatic}};

}  // namespace quern::python
