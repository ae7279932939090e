#pragma once
#include <functional>
#include <optional>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/corpus/parse_corpus.hpp"
#include "quern/formats/collection.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/build_index.hpp"
#include "quern/index/build_texts.hpp"
#include "quern/index/forward/build_forward.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/order/order.hpp"

/// What is written beside an index into its folder, if it is asked for.
namespace quern {

/// Whether there is such a file.
bool has_file(const std::string& path);

struct BesideReports {
  std::optional<ForwardReport> forward;
  std::optional<TextsReport> texts;
  std::optional<FieldsReport> fields;
};

/// Which files are wanted; the fields that a collection keeps always are.
struct BesideChoice {
  bool forward = false, texts = false;

  /// Throws InvalidArgument if the memory budget does not hold what they need.
  void check_memory(const CollectionReader& collection, const Resources& resources) const;
  /// Writes them for the index with this content hash, which was just built into the same folder.
  /// `shard`: which of the order's it is; null: it is the index of all documents.
  BesideReports write(const CollectionReader& collection, const DocumentOrder& order, const std::string& index_hash,
                      const Resources& resources, AtomicOutput& folder, const ForwardShard* shard = nullptr) const;
};

// From a corpus to an index in one go.

/// The settings of all stages.
struct IndexSettings {
  ParseOptions parse;
  std::optional<OrderBy> by;  ///< none: automatic_order()
  OrderOptions order;         ///< but for what `by` and `build` say
  PagerankInput pagerank;
  BuildOptions build;
  bool forward = false;  ///< also write the forward file
};

/// What the stages found and wrote.
struct IndexReports {
  ParseReport parse;
  PagerankReport pagerank;
  BuildReport build;
  BesideReports beside;
};

/// Receives the reports of stages that have ended, before the next one begins; may be empty.
struct StageReports {
  std::function<void(const ParseReport&)> parsed;
  std::function<void(const PagerankReport&)> ranked;
};

/// Parses a corpus, orders its documents and builds the index into `out`, a folder, which the caller commits. The
/// collection is a temporary file. Throws what the stages throw.
IndexReports make_index(const IndexSettings& settings, const Resources& resources, AtomicOutput& out,
                        const StageReports& on_stage = {});

}  // namespace quern
