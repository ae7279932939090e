#pragma once
#include <functional>
#include <optional>
#include <string>

#include "quern/core/resources.hpp"
#include "quern/corpus/parse_corpus.hpp"
#include "quern/formats/order_file.hpp"
#include "quern/index/beside_files.hpp"
#include "quern/index/build_index.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/order/order.hpp"

/// From a corpus to an index in one go.
namespace quern {

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
