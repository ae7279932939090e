#include "query_shards.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "quern/api/internal/index_settings.hpp"
#include "quern/core/error.hpp"
#include "quern/core/size_text.hpp"
#include "quern/index/make_index.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/search/document_set.hpp"
#include "quern/search/top_k.hpp"

namespace quern::tools {
namespace {

QueryBudget query_budget(const QueryNeeds& needs, const IndexReader& index, const Resources& resources,
                         bool has_second_stage, GpuMemoryPlan& gpu_memory) {
  const std::uint64_t documents = index.num_documents();
  const std::uint64_t tables = QueryEngine::table_bytes(index, needs.scorer);
  const std::uint64_t k = std::min<std::uint64_t>(needs.k, documents);
  const std::uint64_t one_query = bytes_for_query(TopK::bytes(k, documents));
  // One query that runs, and the results that wait in each thread.
  const std::uint64_t results = one_query + k * sizeof(ScoredDocument) * resources.threads;
  const std::uint64_t for_second_stage = has_second_stage ? resources.memory_bytes / SecondStage::memory_share : 0;
  const std::uint64_t needed = tables + results;
  if (needed > resources.memory_bytes - for_second_stage)
    throw InvalidArgument(fmt::format(
        "{}: queries need {} of memory, {} for tables of its {} documents and {} for the top {} of a query on {}; "
        "--memory allows {}{}: raise it, or lower {} or --threads",
        index.name(), size_text(needed), size_text(tables), documents, size_text(results), k,
        count_text(resources.threads, "thread"), size_text(resources.memory_bytes),
        for_second_stage > 0 ? fmt::format(", of which {} is for the second stage", size_text(for_second_stage)) : "",
        has_second_stage ? "--rerank" : "-k"));
  std::uint64_t left = resources.memory_bytes - for_second_stage - needed;
  gpu_memory.take_pinned(needs.device, left);
  return {left + one_query, for_second_stage};
}

}  // namespace

QueryShards::QueryShards(const IndexShards& shards, const QueryNeeds& needs, SecondStage* second_stage,
                         Resources& resources)
    : shards_(shards), threads_(resources.threads) {
  Resources own = resources;
  // Of several, a part is for what they find together.
  if (shards.size() > 1) own.memory_bytes = resources.memory_bytes / 16 * 15 / shards.size();
  passing_.reserve(shards.size());
  for (const IndexReader& index : shards) add(index, needs, second_stage, own);
  for (const DocumentSet& passing : passing_) passing_pointers_.push_back(&passing);
  resources.memory_bytes = 0;
  for (const QueryBudget& budget : budgets_) resources.memory_bytes += budget.for_queries;
}

void QueryShards::add(const IndexReader& index, const QueryNeeds& needs, SecondStage* second_stage,
                      Resources resources) {
  if (auto passing = passing_documents(needs.filter, needs.files, index, resources, needs.common))
    passing_.push_back(std::move(*passing));
  GpuMemoryPlan& gpu_memory = *gpu_memories_.emplace_back(std::make_unique<GpuMemoryPlan>(needs.gpu_memory, index));
  const QueryBudget& budget =
      budgets_.emplace_back(query_budget(needs, index, resources, second_stage != nullptr, gpu_memory));
  const std::size_t shard = pages_.size();
  // Resident memory is measured over all shards.
  std::uint64_t other_bytes = 0;
  for (const IndexReader& other : shards_)
    if (&other != &index) other_bytes += other.container().file().size();
  pages_.push_back(std::make_unique<IndexPages>(index, budget.for_queries / 2 * shards_.size(),
                                                second_stage != nullptr ? &second_stage->forward(shard) : nullptr,
                                                other_bytes));
  if (second_stage != nullptr) second_stage->limit_memory(shard, budget.for_second_stage, threads_, *pages_.back());
}

void QueryShards::open_engines(const ScoringArguments& scoring, const QuerySource& queries) {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    engines_.push_back(std::make_unique<QueryEngine>(shards_[shard], scoring_options(scoring, shards_[shard], queries),
                                                     threads_, query_memory(budgets_[shard].for_queries, threads_)));
    engine_pointers_.push_back(engines_.back().get());
  }
}

std::vector<gpu::GpuMemoryOptions> QueryShards::gpu_memory() const {
  std::vector<gpu::GpuMemoryOptions> options;
  for (const auto& gpu_memory : gpu_memories_) options.push_back(gpu_memory->options());
  return options;
}

void QueryShards::trim() {
  for (const auto& pages : pages_) pages->trim();
}

void QueryShards::note_query() {
  for (const auto& pages : pages_) pages->note_query();
}

namespace {

/// A docno is compared together with its neighbours in the file, many more than this.
constexpr std::uint64_t documents_per_read = 256;

}  // namespace

std::future<void> check_docnos(const IndexReader& index) {
  return std::async(std::launch::async, [&index] {
    for (std::uint64_t docid = 0; docid < index.num_documents(); docid += documents_per_read)
      index.docno(static_cast<docid_t>(docid));
  });
}

namespace {

DocumentSet listed_documents(const std::string& path, const IndexReader& index, const Resources& resources,
                             const CommonOptions& options) {
  const auto source = ByteSource::open(path, resources);
  ListedDocuments listed = read_docno_list(*source, index, resources);
  if (listed.unknown > 0)
    say(options, fmt::format("quern: {}: {} of its {} are not in the index, for example '{}'", source->name(),
                             listed.unknown, count_text(listed.listed, "docno"), listed.first_unknown));
  return std::move(listed.documents);
}

DocumentSet matching_documents(const std::string& filter, const IndexReader& index, const Resources& resources) {
  const FilterExpression expression = parse_filter(filter);
  std::optional<FieldsReader> fields;
  if (has_file(fields_path(index.name()))) fields.emplace(FieldsReader::open_beside(index));
  return evaluate_filter(expression, index, fields ? &*fields : nullptr, resources);
}

}  // namespace

void add_filter_option(CLI::App& command, std::optional<std::string>& filter) {
  command
      .add_option(
          "--filter", filter,
          "Only documents that pass: an expression such as 'lang=en and not url^=http://a.example/', over docno, url "
          "and the fields kept by quern index --keep-fields; or @FILE, a list of docnos, one per line")
      ->type_name("FILTER");
}

std::optional<DocumentSet> passing_documents(const std::optional<std::string>& filter, const OtherFiles& others,
                                             const IndexReader& index, Resources& resources,
                                             const CommonOptions& options) {
  if (!filter) return std::nullopt;
  const bool is_list = filter->starts_with('@');
  const std::string list = is_list ? filter->substr(1) : std::string();
  if (list == "-" && others.queries == "-")
    throw usage_error("--filter @- and queries can't both be read from standard input");
  if (is_list && api::WrittenFile(others.output).is(list))
    throw usage_error(fmt::format("{} is both the --filter list and the output", list));
  DocumentSet passing =
      is_list ? listed_documents(list, index, resources, options) : matching_documents(*filter, index, resources);
  if (passing.count() == 0) say(options, "quern: --filter: no document of the index passes");
  resources.memory_bytes -= DocumentSet::bytes(index.num_documents());
  return passing;
}

}  // namespace quern::tools
