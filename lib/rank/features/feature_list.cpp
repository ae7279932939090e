#include "quern/rank/features/feature_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "quern/core/error.hpp"
#include "quern/core/option_name.hpp"
#include "quern/rank/features/feature_families.hpp"

namespace quern {
namespace {

template <class Family>
void append_family(std::string_view group, std::vector<Feature>& features) {
  static_assert(std::size(Family::features) <= max_family_values);
  for (const FeatureInfo& info : Family::features)
    features.push_back({fmt::format("{}.{}", group, info.name), info.kind, std::string(info.formula)});
}

template <std::size_t... families>
void append_stream(std::string_view stream, std::vector<Feature>& features, std::index_sequence<families...>) {
  (append_family<std::tuple_element_t<families, StreamFamilies>>(stream, features), ...);
}

template <std::size_t... families>
void append_document(std::vector<Feature>& features, std::index_sequence<families...>) {
  (append_family<std::tuple_element_t<families, DocumentFamilies>>(
       std::tuple_element_t<families, DocumentFamilies>::group, features),
   ...);
}

std::vector<Feature> make_features() {
  std::vector<Feature> features;
  for (const std::string_view stream : document_stream_names)
    append_stream(stream, features, std::make_index_sequence<std::tuple_size_v<StreamFamilies>>());
  append_document(features, std::make_index_sequence<std::tuple_size_v<DocumentFamilies>>());
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
  switch (kind) {
    case FeatureKind::fixed:
      return "static";
    case FeatureKind::query:
      return "query";
    case FeatureKind::dynamic:
      return "dynamic";
    case FeatureKind::dependent:
      return "dependent";
  }
  return "unknown";
}

const std::vector<Feature>& all_features() {
  static const std::vector<Feature> features = make_features();
  return features;
}

std::vector<std::uint32_t> select_features(std::string_view choice) try {
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
      throw InvalidArgument(
          fmt::format("no feature is called '{}'; {} prints all of them, and * stands for any characters", pattern,
                      option_name<"features list">));
    }
  }
  return selected;
} catch (...) {
  throw_own_error();
}

}  // namespace quern
