#include "quern/core/model_parameters.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "quern/core/error.hpp"

namespace quern {
namespace {

/// "k1, b".
std::string names_of_parameters(std::span<const ModelParameter> parameters) {
  std::string names;
  for (const ModelParameter& parameter : parameters)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", parameter.name);
  return names;
}

}  // namespace

void set_parameter(std::string_view name, double value, std::string_view what,
                   std::span<const ModelParameter> parameters, std::span<double> values) {
  if (parameters.empty()) throw InvalidArgument("{} has no parameters; omit '{}'", what, name);
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const ModelParameter& parameter) { return parameter.name == name; });
  if (found == parameters.end())
    throw InvalidArgument("{} has no parameter '{}': use {}", what, name, names_of_parameters(parameters));
  check_range(fmt::format("{} of {}", name, what), value, found->least, found->greatest);
  if (found->whole && value != std::floor(value))
    throw InvalidArgument("{} of {} must be a whole number, not {}", name, what, value);
  values[static_cast<std::size_t>(found - parameters.begin())] = value;
}

void read_parameters(std::string_view text, std::string_view what, std::span<const ModelParameter> parameters,
                     std::span<double> values) {
  for (std::size_t i = 0; i < parameters.size(); ++i) values[i] = parameters[i].value;
  const std::string_view name = model_name(text);
  if (name.size() == text.size()) return;
  std::string_view left = text.substr(name.size() + 1);
  std::vector<std::string_view> names;
  for (bool more = true; more;) {
    const std::size_t comma = left.find(',');
    const std::string_view setting = left.substr(0, comma);
    more = comma != left.npos;
    left.remove_prefix(more ? comma + 1 : left.size());
    const std::size_t equals = setting.find('=');
    const char* const end = setting.data() + setting.size();
    double value = 0;
    const char* const digits = setting.data() + std::min(equals + 1, setting.size());
    const auto read = std::from_chars(digits, end, value);
    if (equals == setting.npos || digits == end || read.ec != std::errc() || read.ptr != end)
      throw InvalidArgument("'{}' is not a parameter and its value; write for example {}", setting,
                            model_text(name, parameters, values));
    names.push_back(setting.substr(0, equals));
    if (std::count(names.begin(), names.end(), names.back()) > 1)
      throw InvalidArgument("{} of {} is given twice", names.back(), what);
    set_parameter(names.back(), value, what, parameters, values);
  }
}

std::string model_text(std::string_view name, std::span<const ModelParameter> parameters,
                       std::span<const double> values) {
  std::string text(name);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? ':' : ',', parameters[i].name, values[i]);
  return text;
}

}  // namespace quern
