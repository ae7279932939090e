#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/fusion_options.hpp"

namespace quern::api {

quern::FusionOptions fusion_options(const FusionOptions& options, const std::vector<std::string>& paths) {
  if (paths.size() < 2) throw WrongUsage("name two runs or more");
  if (std::count(paths.begin(), paths.end(), "-") > 1)
    throw WrongUsage("only one of the runs can be - (standard input)");
  quern::FusionOptions out;
  out.method = find_named(fusion_methods, options.method, "method").value;
  const bool by_rank = out.method == FusionMethod::rrf;
  if (by_rank && options.normalization)
    throw WrongUsage("{} needs {} combsum or combmnz", option_name<"normalize">, option_name<"method">);
  if (!by_rank && options.rank_constant)
    throw WrongUsage("{} needs {} rrf", option_name<"rrf-k">, option_name<"method">);
  if (options.normalization)
    out.normalization = find_named(score_normalizations, *options.normalization, "normalization").value;
  if (const std::size_t weights = options.weights.size(); weights > 0 && weights != paths.size())
    throw WrongUsage("{}: {} for {}; give one to each run", option_name<"weights">, count_text(weights, "weight"),
                     count_text(paths.size(), "run"));
  out.rank_constant = options.rank_constant.value_or(out.rank_constant);
  out.weights = options.weights;
  out.k = options.k;
  out.tag = options.tag;
  return out;
}

FusionReport fuse(const std::vector<std::string>& paths, const FusionOptions& options,
                  const std::function<void(std::string_view)>& write, const Work& work) {
  return with_api_errors([&] {
    WorkResources resources(work, {});
    const quern::FusionReport report = fuse_runs(paths, fusion_options(options, paths), resources, write);
    return FusionReport{report.queries, report.results_read, report.results, report.queries_of_runs};
  });
}

}  // namespace quern::api
