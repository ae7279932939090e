#pragma once
#include <span>
#include <vector>

#include "quern/core/bm25.hpp"
#include "quern/core/resources.hpp"
#include "quern/lab/synth/document_tree.hpp"
#include "quern/lab/synth/term_fields.hpp"

namespace quern {

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

/// GS+ of each document (order/global_score.hpp); `pagerank` is scaled.
std::vector<float> global_score_bounds(std::span<const float> pagerank, const DocumentBests& bests, double alpha);

}  // namespace quern
