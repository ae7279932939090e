#include "quern/formats/corpus/json_fields.hpp"

#include <algorithm>

#include "quern/text/utf8.hpp"

namespace quern {

std::optional<std::size_t> find_json_key(std::string_view name) {
  const auto* const found =
      std::find_if(json_keys.begin(), json_keys.end(), [&](const JsonKey& key) { return key.name == name; });
  if (found == json_keys.end()) return std::nullopt;
  return static_cast<std::size_t>(found - json_keys.begin());
}

void UnreadKeys::add(std::string_view name) {
  if (++count_ > max_names) return;
  if (count_ > 1) names_ += ", ";
  const std::string_view cut = cut_at_character(name, max_name_bytes);
  names_ += '\'';
  for (const char c : cut) names_ += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  names_ += cut.size() < name.size() ? "...'" : "'";
}

std::string UnreadKeys::remark() const {
  if (count_ == 0) return {};
  std::string remark = "it has no text under contents, text, content or body, and " + names_;
  if (count_ > max_names) remark += " and " + std::to_string(count_ - max_names) + " more";
  return remark + (count_ == 1 ? " is not read" : " are not read");
}

}  // namespace quern
