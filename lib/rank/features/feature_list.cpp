#include "quern/rank/features/feature_list.hpp"

#include <fmt/format.h>

#include "quern/rank/features/feature_families.hpp"

namespace quern {
namespace {

std::vector<Feature> make_features() {
  std::vector<Feature> features;
  for_each_family([&](auto family, const FamilyPlace& place) {
    using Family = decltype(family);
    static_assert(std::size(Family::features) <= max_family_values);
    std::string_view group;
    if constexpr (requires { Family::group; })
      group = Family::group;
    else
      group = document_stream_names[place.stream];
    for (const FeatureInfo& info : Family::features)
      features.push_back({fmt::format("{}.{}", group, info.name), info.kind, std::string(info.formula)});
  });
  return features;
}

/// Whether the name matches the pattern, in which * stands for any characters.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t at = 0, in_name = 0, star = std::string_view::npos, after_star = 0;
  while (in_name < name.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      after_star = in_name;
    } else if (at < pattern.size() && pattern[at] == name[in_name]) {
      ++at;
      ++in_name;
    } else if (star != std::string_view::npos) {
      at = star + 1;
      in_name = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

}  // namespace

std::string_view name_of(FeatureKind kind) {
  constexpr std::string_view names[] = {"static", "query", "dynamic", "dependent"};
  return names[static_cast<std::size_t>(kind)];
}

const std::vector<Feature>& all_features() {
  static const std::vector<Feature> features = make_features();
  return features;
}

std::vector<std::uint32_t> select_features(std::string_view choice) {
  const std::vector<Feature>& features = all_features();
  std::vector<std::uint32_t> selected;
  std::vector<bool> is_selected(features.size());
  for (std::size_t at = 0; at <= choice.size();) {
    const std::size_t comma = std::min(choice.find(',', at), choice.size());
    std::string_view pattern = choice.substr(at, comma - at);
    at = comma + 1;
    if (pattern == "all") pattern = "*";
    bool found = false;
    for (std::uint32_t i = 0; i < features.size(); ++i) {
      if (!matches(pattern, features[i].name)) continue;
      found = true;
      if (!is_selected[i]) selected.push_back(i);
      is_selected[i] = true;
    }
    if (!found) {
      throw InvalidArgument("no feature is called '{}'; {} prints all of them, and * stands for any characters",
                            pattern, option_name<"features list">);
    }
  }
  return selected;
}

}  // namespace quern
