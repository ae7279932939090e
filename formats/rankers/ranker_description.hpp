#pragma once
#include <string>
#include <string_view>

#include "quern/formats/rankers/tree_collector.hpp"

namespace quern {

/// Parses a tree of a description, "body.bm25 <= 3.5 ? -0.5 : 1", and adds it to `trees`. Throws CorruptFile, with
/// `place` (the file and line), for invalid text.
void add_description_tree(std::string_view text, const std::string& place, TreeCollector& trees);

}  // namespace quern
