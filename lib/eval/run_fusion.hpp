#pragma once
#include "quern/core/named.hpp"
#include "quern/core/resources.hpp"

/// Several runs of the same queries, combined into one; see formats/queries/fusion.md.
namespace quern {

/// What a run contributes to a document's score.
enum class FusionMethod : std::uint8_t { rrf, combsum, combmnz };
inline constexpr NamedValue<FusionMethod> fusion_methods[] = {
    {"rrf", FusionMethod::rrf, "reciprocal rank fusion: the sum of 1 / (60 + rank)"},
    {"combsum", FusionMethod::combsum, "the sum of the scores; with weights, interpolation"},
    {"combmnz", FusionMethod::combmnz, "that sum times the number of runs that have the document"}};

/// How the scores of a query in a run are made comparable with those of other runs.
enum class ScoreNormalization : std::uint8_t { min_max, none };
inline constexpr NamedValue<ScoreNormalization> score_normalizations[] = {
    {"min-max", ScoreNormalization::min_max, "from 0 for the query's lowest score in the run to 1 for its highest"},
    {"none", ScoreNormalization::none, "as they are"}};

struct FusionOptions {
  FusionMethod method = FusionMethod::rrf;
  double rank_constant = 60;                                       ///< added to ranks, with rrf; from 0 to 10^9
  ScoreNormalization normalization = ScoreNormalization::min_max;  ///< not with rrf
  std::vector<double> weights;                                     ///< one for each run, from 0 to 10^9; none: 1
  std::uint64_t k = 1000;                                          ///< results per query, at least 1
  std::string tag = "quern";
};

struct FusionReport {
  std::uint64_t queries = 0, results_read = 0, results = 0;
  std::vector<std::uint64_t> queries_of_runs;
};

/// Combines runs, of TREC or with rrf also of MS MARCO, into a TREC run, which `write` gets as text. The order of the
/// runs' lines doesn't matter. Sorts in a quarter of the memory, on disk if necessary; one query's results are in
/// memory. Throws InvalidArgument for options out of range, and if a query doesn't fit; CorruptFile like read_run(),
/// for a document twice in a query of a run, and for scores that aren't finite, or that are only ranks where scores are
/// needed.
FusionReport fuse_runs(std::span<const std::string> paths, const FusionOptions& options, const Resources& resources,
                       const std::function<void(std::string_view)>& write);

}  // namespace quern
