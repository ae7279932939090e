#include "quern/api/fusion.hpp"

#include "quern/api/internal/boundary.hpp"
#include "quern/eval/run_fusion.hpp"

namespace quern::api {
namespace {

quern::FusionOptions fusion_options(const FusionOptions& options, std::size_t runs) {
  if (runs < 2) throw WrongUsage("name two runs or more");
  quern::FusionOptions out;
  out.method = find_named(fusion_methods, options.method, "method").value;
  const bool by_rank = out.method == FusionMethod::rrf;
  if (by_rank && options.normalization)
    throw WrongUsage("{} needs {} combsum or combmnz", option_name<"normalize">, option_name<"method">);
  if (!by_rank && options.rank_constant)
    throw WrongUsage("{} needs {} rrf", option_name<"rrf-k">, option_name<"method">);
  if (options.normalization)
    out.normalization = find_named(score_normalizations, *options.normalization, "normalization").value;
  out.rank_constant = options.rank_constant.value_or(out.rank_constant);
  out.weights = options.weights;
  out.k = options.k;
  out.tag = options.tag;
  return out;
}

}  // namespace

void fuse(const std::vector<std::string>& paths, const FusionOptions& options,
          const std::function<void(std::string_view)>& write, const Work& work) {
  with_api_errors([&] {
    WorkResources resources(work, {});
    fuse_runs(paths, fusion_options(options, paths.size()), resources, write);
  });
}

}  // namespace quern::api
