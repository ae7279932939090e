#pragma once
#include <functional>
#include <string>

#include "quern/formats/exchange/inverted_sink.hpp"
#include "quern/index/build_index.hpp"

namespace quern {

struct ImportOptions {
  std::string source;        ///< the file's name in messages
  std::string format;        ///< the file's format, as the manifest names it
  AnalyzerOptions analyzer;  ///< for queries: it should be the analyzer that made the file's terms
  BuildOptions build;        ///< with impacts, the file's frequencies are weights, and queries are not analyzed
};

/// Builds an index from an inverted file: `read` passes the file's content to the sink that it gets. docIDs stay; lists
/// are sorted by their terms on disk, within the memory budget. Documents' lengths are marked as exact if they are the
/// sums of the frequencies, else as lossy. Throws what `read` throws, CorruptFile if a term has two lists, and
/// InvalidArgument as build_index() does.
BuildReport import_index(const std::function<void(InvertedSink&)>& read, const ImportOptions& options,
                         const Resources& resources, File& out);

}  // namespace quern
