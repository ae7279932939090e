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

/// Of `memory`, what is left for the queries of a shard; `for_second_stage` is part of it. Throws InvalidArgument if
/// that isn't enough for one.
std::uint64_t bytes_for_queries(const QueryNeeds& needs, const IndexReader& index, std::uint64_t memory,
                                std::uint64_t for_second_stage, unsigned threads, GpuMemoryPlan& gpu_memory) {
  const std::uint64_t documents = index.num_documents();
  const std::uint64_t tables = QueryEngine::table_bytes(index, needs.scorer);
  const std::uint64_t k = std::min<std::uint64_t>(needs.k, documents);
  const std::uint64_t one_query = bytes_for_query(TopK::bytes(k, documents));
  // One query that runs, and the results that wait in each thread.
  const std::uint64_t results = one_query + k * sizeof(ScoredDocument) * threads;
  const std::uint64_t needed = tables + results;
  if (needed > memory - for_second_stage)
    throw InvalidArgument(fmt::format(
        "{}: queries need {} of memory, {} for tables of its {} documents and {} for the top {} of a query on {}; "
        "--memory allows {}{}: raise it, or lower {} or --threads",
        index.name(), size_text(needed), size_text(tables), documents, size_text(results), k,
        count_text(threads, "thread"), size_text(memory),
        for_second_stage > 0 ? fmt::format(", of which {} is for the second stage", size_text(for_second_stage)) : "",
        for_second_stage > 0 ? "--rerank" : "-k"));
  std::uint64_t left = memory - for_second_stage - needed;
  gpu_memory.take_pinned(needs.device, left);
  return left + one_query;
}

}  // namespace

QueryShards::QueryShards(const IndexShards& shards, const QueryNeeds& needs, SecondStage* second_stage,
                         Resources& resources)
    : shards_(shards),
      threads_(resources.threads),
      passing_(passing_documents(needs.filter, needs.files, shards, resources, needs.common)) {
  for (const DocumentSet& passing : passing_) passing_pointers_.push_back(&passing);
  // Some is for what several shards find together.
  const std::uint64_t memory = shards.size() == 1 ? resources.memory_bytes : resources.memory_bytes / 16 * 15;
  if (second_stage != nullptr) second_stage_bytes_ = memory / SecondStage::memory_share;
  resources.memory_bytes = 0;
  const std::vector<std::string> plans = plans_by_shard(needs.gpu_memory.plans, shards);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    gpu_memories_.push_back(std::make_unique<GpuMemoryPlan>(needs.gpu_memory, shards[i], plans[i]));
    query_bytes_.push_back(bytes_for_queries(needs, shards[i], memory / shards.size(),
                                             second_stage_bytes_ / shards.size(), threads_, *gpu_memories_.back()));
    resources.memory_bytes += query_bytes_.back();
  }
  const auto forwards = second_stage != nullptr ? second_stage->forwards() : std::span<const ForwardReader>();
  pages_ = std::make_unique<IndexPages>(shards, forwards, resources.memory_bytes / 2);
  if (second_stage != nullptr) second_stage->limit_memory(second_stage_bytes_, threads_, *pages_);
}

void QueryShards::open_engines(const ScoringArguments& scoring, const QuerySource& queries) {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    engines_.push_back(std::make_unique<QueryEngine>(shards_[shard], scoring_options(scoring, shards_[shard], queries),
                                                     threads_, query_memory(query_bytes_[shard], threads_)));
    engine_pointers_.push_back(engines_.back().get());
  }
}

std::vector<gpu::GpuMemoryOptions> QueryShards::gpu_memory() const {
  std::vector<gpu::GpuMemoryOptions> options;
  for (const auto& gpu_memory : gpu_memories_) options.push_back(gpu_memory->options());
  return options;
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

std::vector<DocumentSet> listed_documents(const std::string& path, std::span<const IndexReader> shards,
                                          const Resources& resources, const CommonOptions& options) {
  const auto source = ByteSource::open(path, resources);
  ListedDocuments listed = read_docno_list(*source, shards, resources);
  if (listed.unknown > 0)
    say(options, fmt::format("quern: {}: {} of its {} are not in the index, for example '{}'", source->name(),
                             listed.unknown, count_text(listed.listed, "docno"), listed.first_unknown));
  return std::move(listed.documents);
}

std::vector<DocumentSet> matching_documents(const std::string& filter, std::span<const IndexReader> shards,
                                            Resources resources) {
  const FilterExpression expression = parse_filter(filter);
  std::vector<DocumentSet> passing;
  for (const IndexReader& index : shards) {
    std::optional<FieldsReader> fields;
    if (has_file(fields_path(index.name()))) fields.emplace(FieldsReader::open_beside(index));
    passing.push_back(evaluate_filter(expression, index, fields ? &*fields : nullptr, resources));
    resources.memory_bytes -= DocumentSet::bytes(index.num_documents());
  }
  return passing;
}

}  // namespace

void add_filter_option(CLI::App& command, std::optional<std::string>& filter) {
  add_option(command, "--filter", filter, "FILTER",
             "Only documents that pass an expression such as 'lang=en and not url^=http://a.example/', over docno, url "
             "and the fields kept by quern index --keep-fields, or @FILE, a list of docnos, one per line");
}

std::vector<DocumentSet> passing_documents(const std::optional<std::string>& filter, const OtherFiles& others,
                                           std::span<const IndexReader> shards, Resources& resources,
                                           const CommonOptions& options) {
  if (!filter) return {};
  const bool is_list = filter->starts_with('@');
  const std::string list = is_list ? filter->substr(1) : std::string();
  if (list == "-" && others.queries == "-")
    throw usage_error("--filter @- and queries can't both be read from standard input");
  if (is_list && api::WrittenFile(others.output).is(list))
    throw usage_error(fmt::format("{} is both the --filter list and the output", list));
  std::vector<DocumentSet> passing =
      is_list ? listed_documents(list, shards, resources, options) : matching_documents(*filter, shards, resources);
  std::uint64_t documents = 0;
  for (const DocumentSet& set : passing) {
    documents += set.count();
    resources.memory_bytes -= DocumentSet::bytes(set.num_documents());
  }
  if (documents == 0) say(options, "quern: --filter: no document of the index passes");
  return passing;
}

}  // namespace quern::tools
