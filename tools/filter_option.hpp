#pragma once
#include <optional>
#include <string>

#include "quern/formats/index_file.hpp"
#include "quern/search/document_set.hpp"

#include "command.hpp"

/// --filter of commands that answer queries.
namespace quern::tools {

void add_filter_option(CLI::App& command, std::optional<std::string>& filter);

/// Files that a command reads or writes besides the list of a filter; empty: none.
struct OtherFiles {
  std::string queries, output;
};

/// The documents of the index that pass a filter, which is an expression, or @FILE for a list of docnos; nothing if
/// there is no filter. Warns of docnos that the index lacks, and if no document passes. Takes what
/// the set needs from the memory of `resources`. A list can't be standard input if the queries are, nor the output.
std::optional<DocumentSet> passing_documents(const std::optional<std::string>& filter, const OtherFiles& others,
                                             const IndexReader& index, Resources& resources,
                                             const CommonOptions& options);

}  // namespace quern::tools
