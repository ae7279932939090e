#pragma once
#include "quern/index/build_index.hpp"
#include "quern/lab/synth/term_fields.hpp"

namespace quern {

struct SynthOptions {
  /// Scaled to the number of documents; see scaled_to().
  DfTable table;
  /// 0 to 1; the default gives lists like those of learn-docs in URL order (BENCHMARKS.md).
  double clustering = 0.5;
  std::uint64_t seed = 1;
  /// Mean number of tokens per document; 0: derived from the number of postings.
  double mean_length = 0;
  /// Queries as terms: terms of one query become correlated.
  VisitQueries for_each_query;
  /// Stores a synthetic PageRank.
  bool pagerank = false;
  /// Orders docIDs by decreasing global score instead of URL; stores PageRank and global scores.
  bool order_by_score = false;
  /// The scale of PageRank and its share of global scores (0 to 1); k1 and b are the index's.
  DocumentScoreSettings scores;
  AnalyzerOptions analyzer;  ///< for queries
  BuildOptions build;
};

/// Makes an index from a table of document frequencies, without text: every list has exactly its df, docIDs are
/// clustered, frequencies and lengths skewed, terms correlated (lib/lab/synth/README.md describes the model). The bytes
/// depend on the options alone. Besides an index's memory, takes some 100 bytes per term of the table and 8 bytes per
/// document, and 12 more for the order by score. Throws InvalidArgument for options out of range, an empty collection,
/// or too small a memory budget; IoError if the disk has too little space.
BuildReport synthesize_index(const SynthOptions& options, const Resources& resources, File& out);

}  // namespace quern
