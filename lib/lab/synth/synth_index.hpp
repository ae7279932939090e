#pragma once
#include <tbb/enumerable_thread_specific.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "quern/core/bm25.hpp"
#include "quern/core/resources.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/list_source.hpp"
#include "quern/lab/synth/document_tree.hpp"
#include "quern/lab/synth/list_generator.hpp"
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

/// Returns synthetic lists in the order of their terms; the encoding threads draw them.
class SynthLists : public ListSource {
 public:
  /// `docids`: the docID of each document of the tree; empty if docIDs are the documents' numbers. A list of more than
  /// `list_bytes` goes through a work file in `tmp_folder`. `in_pieces`: allows ListPieces instead, which needs docIDs
  /// that are the documents' numbers. Tree, fields and docIDs must outlive the object.
  SynthLists(const DocumentTree& tree, std::span<const TermField> fields, std::span<const docid_t> docids,
             std::uint64_t list_bytes, std::string tmp_folder, bool in_pieces);

  bool next(ListBatch& batch) override;

 private:
  DeferredLists next_piece();
  Lists make_piece(std::size_t term, std::uint64_t first);
  Lists make_lists(std::size_t from, std::size_t end);
  Lists make_long_list(std::size_t term);
  std::uint64_t max_postings() const;

  std::span<const TermField> fields_;
  std::span<const docid_t> docids_;
  std::uint64_t list_bytes_;
  std::string tmp_folder_;
  docid_t documents_;
  tbb::enumerable_thread_specific<ListGenerator> generators_;
  bool in_pieces_;
  std::size_t next_ = 0;
  std::uint64_t next_first_ = 0;  ///< the next piece of that list
};

/// A synthetic PageRank: it decreases with a power of the document's rank in PopularityRanking, varies between sites,
/// and sums to 1.
std::vector<float> synthetic_pagerank(const DocumentTree& tree, std::uint64_t seed);

/// Properties of each document's postings, for global scores.
struct DocumentBests {
  std::vector<float> impacts;        ///< maximum f / (K_d + f)
  std::vector<std::uint32_t> terms;  ///< number of postings
};

/// Draws all lists once, in parallel.
DocumentBests document_bests(const DocumentTree& tree, std::span<const TermField> fields,
                             std::span<const float> constants, const Resources& resources);

/// GS+ of each document (order/order.hpp); `pagerank` is scaled.
std::vector<float> global_score_bounds(std::span<const float> pagerank, const DocumentBests& bests, double alpha);

}  // namespace quern
