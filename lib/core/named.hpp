#pragma once
#include <string>
#include <string_view>

#include "quern/core/error.hpp"

namespace quern {

/// The member of a registry (pointers to objects with a name()) that is called `name`. Throws InvalidArgument, with
/// `kind` and the names there are, where none is.
template <class Registry>
const auto& find_named(const Registry& registry, std::string_view name, std::string_view kind) {
  std::string names;
  for (const auto* entry : registry) {
    if (entry->name() == name) return *entry;
    names += names.empty() ? "" : ", ";
    names += entry->name();
  }
  throw InvalidArgument("no " + std::string(kind) + " is called '" + std::string(name) + "'; there are " + names);
}

}  // namespace quern
