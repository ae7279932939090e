#pragma once
#include <type_traits>

#include "quern/core/error.hpp"

/// Registries of codecs, orders, algorithms, formats and other things that users choose by name. A registry is a
/// function all_things() that returns a sequence of entries or of pointers to entries, in the order in which help texts
/// list them. An entry's name is its member `name`, a variable or a function. thing_named() calls find_named() on that
/// sequence.
namespace quern {

template <class Entry>
std::string_view name_of_entry(const Entry& entry) {
  if constexpr (std::is_pointer_v<Entry>)
    return name_of_entry(*entry);
  else if constexpr (requires { entry.name(); })
    return entry.name();
  else
    return entry.name;
}

/// An entry's description for help texts; empty if it has none.
template <class Entry>
std::string_view description_of_entry(const Entry& entry) {
  if constexpr (std::is_pointer_v<Entry>)
    return description_of_entry(*entry);
  else if constexpr (requires { entry.description(); })
    return entry.description();
  else if constexpr (requires { entry.description; })
    return entry.description;
  else
    return {};
}

/// The names of all entries, in registry order.
template <class Registry>
std::vector<std::string> names_of(const Registry& registry) {
  std::vector<std::string> names;
  for (const auto& entry : registry) names.emplace_back(name_of_entry(entry));
  return names;
}

template <class Registry>
bool has_named(const Registry& registry, std::string_view name) {
  return std::any_of(std::begin(registry), std::end(registry),
                     [&](const auto& entry) { return name_of_entry(entry) == name; });
}

/// "; did you mean NAME?", or nothing if no name is similar to `wrong`, in whatever case.
std::string nearest_name(const std::vector<std::string>& names, std::string_view wrong);

/// The entry called `name`. If there is none, throws InvalidArgument with `kind` (a noun for the entries), all names,
/// and the one that was probably meant.
template <class Registry>
const auto& find_named(const Registry& registry, std::string_view name, std::string_view kind) {
  const auto found = std::find_if(std::begin(registry), std::end(registry),
                                  [&](const auto& entry) { return name_of_entry(entry) == name; });
  if (found == std::end(registry)) {
    std::string message = "unknown " + std::string(kind) + " '" + std::string(name) + "': use one of ";
    const std::vector<std::string> names = names_of(registry);
    for (const std::string& known : names) message += known + ", ";
    message.resize(message.size() - 2);
    throw InvalidArgument(message + nearest_name(names, name));
  }
  if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(*found)>>)
    return **found;
  else
    return *found;
}

/// A value, usually of an enum, with its name in options and files and its description for help texts. A constexpr
/// array of these, one per enum, is a registry too.
template <class Value>
struct NamedValue {
  std::string_view name;
  Value value;
  std::string_view description = {};
};

/// The name of `value`, which must be in the table.
template <class Table, class Value>
constexpr std::string_view name_of_value(const Table& table, Value value) {
  for (const auto& entry : table)
    if (entry.value == value) return entry.name;
  return {};
}

}  // namespace quern
