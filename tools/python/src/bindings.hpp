#pragma once
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <quern/api/quern.hpp>

#include "arrays.hpp"
#include "work.hpp"

/// The module's parts: each adds its classes and functions.
namespace quern::python {

void bind_index(nanobind::module_& module);
void bind_searcher(nanobind::module_& module);
void bind_builder(nanobind::module_& module);
void bind_second_stage(nanobind::module_& module);
void bind_tools(nanobind::module_& module);

/// Translates the library's errors to the classes of quern.errors, by code.
void translate_errors();

// Values that Python programs name.

/// The value of a name. Raises ValueError, which lists all names, for an unknown one.
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

/// A member of a struct, and what Python calls it.
template <class Struct, class Member>
struct Field {
  const char* name;
  Member Struct::*member;
};

/// A dict of members of a struct.
template <class Struct, class... Members>
nanobind::dict to_dict(const Struct& from, const Field<Struct, Members>&... fields) {
  nanobind::dict out;
  ((out[fields.name] = from.*fields.member), ...);
  return out;
}

/// Adds members that Python may set to a struct's class.
template <class Struct, class... Members>
void bind_members(nanobind::class_<Struct>& type, const Field<Struct, Members>&... fields) {
  (type.def_rw(fields.name, fields.member), ...);
}

inline constexpr std::pair<const char*, api::Device> devices[] = {
    {"cpu", api::Device::cpu}, {"gpu", api::Device::gpu}, {"auto", api::Device::automatic}};

/// Results of one or more queries, with their index.
struct Results {
  api::Index index;
  api::BatchResults found;
};

/// Adds the class to the module.
void bind_results(nanobind::module_& module);

}  // namespace quern::python
