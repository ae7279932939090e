#pragma once
#include "quern/api/work.hpp"

namespace quern::api {

/// How runs are combined: `quern fuse`.
struct FusionOptions {
  std::string method = "rrf";                ///< "rrf", "combsum" or "combmnz"
  std::optional<std::string> normalization;  ///< "min-max" or "none"; not with rrf; none: min-max
  std::optional<double> rank_constant;       ///< added to ranks, with rrf only, from 0 to 10^9; none: 60
  std::vector<double> weights;               ///< of each run, from 0 to 10^9; none: 1
  std::uint64_t k = 1000;                    ///< results per query, at least 1
  std::string tag = "quern";                 ///< the new run's
};

/// What was combined.
struct FusionReport {
  std::uint64_t queries = 0, results_read = 0, results = 0;
  std::vector<std::uint64_t> queries_of_runs;
};

/// Combines two runs or more of the same queries, files of TREC or with rrf also of MS MARCO, plain or compressed, "-"
/// for standard input, into a TREC run, which write() gets as text, query by query: formats/queries/fusion.md. Throws
/// Error: wrong_usage for options that don't apply, invalid_argument for others out of range, corrupt_file, io.
QUERN_API FusionReport fuse(const std::vector<std::string>& paths, const FusionOptions& options,
                            const std::function<void(std::string_view)>& write, const Work& work = {});

}  // namespace quern::api
