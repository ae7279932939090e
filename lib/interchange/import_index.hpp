#pragma once
#include <functional>
#include <string>

#include "quern/formats/exchange/inverted_sink.hpp"
#include "quern/index/build_index.hpp"

namespace quern {

struct ImportOptions {
  std::string source;        ///< what messages call the file
  std::string format;        ///< the file's form, as the manifest names it
  AnalyzerOptions analyzer;  ///< of the queries: it should be what made the file's terms
  BuildOptions build;
};

/// Makes an index of an inverted file: `read` hands the file to the sink that it is given. docIDs stay; lists are
/// sorted by their terms on disk, within the memory budget. Documents' lengths are declared exact where they are the
/// sums of the frequencies, else lossy. Throws what `read` throws, CorruptFile where a term has two lists, and
/// InvalidArgument as build_index() does.
BuildReport import_index(const std::function<void(InvertedSink&)>& read, const ImportOptions& options,
                         const Resources& resources, File& out);

}  // namespace quern
