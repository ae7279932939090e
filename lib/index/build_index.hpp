#pragma once
#include "quern/formats/index_file.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/impact_sections.hpp"
#include "quern/io/file.hpp"

namespace quern {

struct BuildOptions {
  std::string codec = "maskpfd";
  CodecOptions codec_options;
  Bm25Parameters bm25;
  /// Bits of the quantized impacts, 4 to 16; 0: stores none. With `weighting`: bits of weights; 0: usual_weight_bits.
  unsigned quantize_bits = 0;
  /// Set if the index stores weights computed by a model instead of frequencies.
  std::optional<Weighting> weighting = std::nullopt;
  /// Set if frequencies are weights from the corpus, and scores sums of them. Collections set it themselves.
  std::optional<ImpactSettings> impacts = std::nullopt;
  bool allow_empty = true;              ///< build an index even if no document has a term
  bool forward = false, texts = false;  ///< whether these files will be in the index's folder, for its manifest
};

/// Checks codec, block size, recursion, k1 (at least 0), b (0 to 1) and the bits of quantized impacts. Throws
/// InvalidArgument, also for options that don't apply to given impacts or weighting models.
void check_build_options(const BuildOptions& options);

/// The result of building an index.
struct BuildReport {
  IndexManifest manifest;
  std::uint64_t index_bytes = 0;
  std::string index_hash;  ///< content hash of the container, which other files refer to
  std::size_t spilled_runs = 0;
};

/// Throws InvalidArgument if the budget can't hold the tables for an index of `collection`: 16 bytes per document, 4
/// for each of its `scores` (PageRank, global score), the collection's tables, and 16 MB.
void check_build_memory(const CollectionReader& collection, unsigned scores, const Resources& resources);

/// Inverts a collection into an index file, in docID order, within the memory budget, in parallel. The bytes depend
/// only on collection, order and options. Throws InvalidArgument like check_build_memory(), and if no document of the
/// whole corpus has a term, unless allow_empty. `whole` selects the shard
/// of the order to build; the order still has the scores of all documents.
BuildReport build_index(const CollectionReader& collection, const DocumentOrder& order,
                        const OrderOptions& order_options, const BuildOptions& options, const Resources& resources,
                        File& out, const CollectionContext* whole = nullptr);

}  // namespace quern
