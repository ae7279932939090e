#pragma once
#include "quern/corpus/parse_corpus.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/order/order.hpp"

/// Optional files in an index's folder.
namespace quern {

struct SidecarReports {
  std::optional<ForwardReport> forward;
  std::optional<TextsReport> texts;
  std::optional<FieldsReport> fields;
};

/// Which files to write; kept fields are always written.
struct BesideChoice {
  bool forward = false, texts = false;

  /// Throws InvalidArgument if the memory budget is too small for them.
  void check_memory(const CollectionReader& collection, const Resources& resources) const;
  /// Writes the files for the index with this content hash, just built into the same folder. `shard` selects one of the
  /// order's shards; null: the index contains all documents.
  SidecarReports write(const CollectionReader& collection, const DocumentOrder& order, const std::string& index_hash,
                       const Resources& resources, AtomicOutput& folder, const ForwardShard* shard = nullptr) const;
};

// From a corpus to an index in one call.

/// The settings of all stages.
struct IndexSettings {
  ParseOptions parse;
  std::optional<OrderBy> by;  ///< nullopt: automatic_order()
  OrderOptions order;         ///< except for members set by `by` and `build`
  PagerankInput pagerank;
  BuildOptions build;
  bool forward = false;  ///< whether to write the forward file
};

/// The stages' reports.
struct IndexReports {
  ParseReport parse;
  PagerankReport pagerank;
  BuildReport build;
  SidecarReports beside;
};

/// Receives a stage's report before the next stage begins; may be empty.
struct StageReports {
  std::function<void(const ParseReport&)> parsed;
  std::function<void(const PagerankReport&)> ranked;
};

/// Parses a corpus, orders its documents and builds the index into the folder `out`, which the caller commits. The
/// collection is a temporary file. Throws what the stages throw.
IndexReports make_index(const IndexSettings& settings, const Resources& resources, AtomicOutput& out,
                        const StageReports& on_stage = {});

}  // namespace quern
