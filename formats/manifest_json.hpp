#pragma once
#include <nlohmann/json.hpp>

#include <string>

#include "quern/core/error.hpp"

namespace quern {

/// Manifests keep the order of their keys, so that the same content gives the same bytes.
using ManifestJson = nlohmann::ordered_json;

inline std::string manifest_text(const ManifestJson& json) { return json.dump(1) + "\n"; }

/// Calls read(json) on the parsed text; whatever is missing or of another type becomes CorruptFile with `what`.
template <class Read>
void read_manifest(const std::string& text, const std::string& what, Read&& read) {
  try {
    read(ManifestJson::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw CorruptFile(what + ": section 'manifest': " + error.what());
  }
}

}  // namespace quern
