#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/index/build_index.hpp"
#include "quern/synth/df_table.hpp"
#include "quern/synth/document_tree.hpp"

namespace quern {

struct SynthOptions {
  /// Scaled to the number of documents; see scaled_to().
  DfTable table;
  /// 0 to 1; the default makes lists like those of learn-docs in URL order (BENCHMARKS.md).
  double clustering = 0.5;
  std::uint64_t seed = 1;
  /// Tokens a document; 0: what the postings let expect.
  double mean_length = 0;
  /// Queries as terms: those that are asked together share places and documents.
  std::vector<std::vector<std::string>> queries;
  /// Stores a made-up PageRank.
  bool pagerank = false;
  /// docIDs by falling global score instead of URL; stores PageRank and global scores.
  bool order_by_score = false;
  /// How PageRank is scaled, and its share of global scores (0 to 1); k1 and b are those of the index.
  DocumentScoreSettings scores;
  AnalyzerOptions analyzer;  ///< for queries
  BuildOptions build;
};

/// Makes an index from a table of document frequencies, without text: every list has just its df, docIDs are
/// clustered, frequencies and lengths skewed, terms correlated (ARCHITECTURE.md has the model). Bytes depend on the
/// options alone. Takes 8 bytes a document beside what the index itself takes, and for the order by score 12 more.
/// Throws InvalidArgument for options out of range, an empty collection, or a budget too small; IoError where the disk
/// has too little room.
BuildReport synthesize_index(const SynthOptions& options, const Resources& resources, File& out);

}  // namespace quern
