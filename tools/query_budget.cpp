#include "query_budget.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/core/error.hpp"
#include "quern/core/size_text.hpp"
#include "quern/search/top_k.hpp"

#include "query_options.hpp"
#include "second_stage.hpp"

namespace quern::tools {

QueryBudget query_budget(const QueryNeeds& needs, const IndexReader& index, const Resources& resources,
                         GpuMemoryPlan& gpu_memory) {
  const std::uint64_t documents = index.num_documents();
  const std::uint64_t tables = QueryEngine::table_bytes(index, needs.scorer);
  const std::uint64_t k = std::min<std::uint64_t>(needs.k, documents);
  const std::uint64_t one_query = bytes_for_query(TopK::bytes(k, documents));
  // One query that runs, and the results that wait in each thread.
  const std::uint64_t results = one_query + k * sizeof(ScoredDocument) * resources.threads;
  const std::uint64_t for_second_stage = needs.second_stage ? resources.memory_bytes / SecondStage::memory_share : 0;
  const std::uint64_t needed = tables + results;
  if (needed > resources.memory_bytes - for_second_stage)
    throw InvalidArgument(fmt::format(
        "{}: queries need {} of memory, {} for tables of its {} documents and {} for the {} best of a query on {}; "
        "--memory allows {}{}: raise it, or lower {} or --threads",
        index.name(), size_text(needed), size_text(tables), documents, size_text(results), k,
        count_text(resources.threads, "thread"), size_text(resources.memory_bytes),
        for_second_stage > 0 ? fmt::format(", of which {} are for the second stage", size_text(for_second_stage)) : "",
        needs.second_stage ? "--rerank" : "-k"));
  std::uint64_t left = resources.memory_bytes - for_second_stage - needed;
  gpu_memory.take_pinned(needs.device, left);
  return {left + one_query, for_second_stage};
}

}  // namespace quern::tools
