#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <thread>

#include "quern/api/internal/index_impl.hpp"
#include "quern/api/internal/processors.hpp"
#include "quern/gpu/query_backend.hpp"
#include "quern/io/byte_source.hpp"
#include "quern/search/algorithm.hpp"
#include "quern/search/expansion.hpp"
#include "quern/search/query_stream.hpp"

#include "command.hpp"
#include "gpu_options.hpp"
#include "query_options.hpp"
#include "result_fields.hpp"
#include "run_statistics.hpp"

namespace quern::tools {
namespace {

struct QueryArguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::vector<std::string> indexes;
  std::string output, output_format, tag = "quern", stats, expand;
  std::optional<std::string> filter;
  std::vector<std::string> fields;
  QueryDevice device = QueryDevice::cpu;
  GpuOptions gpu;
  GpuMemoryArguments gpu_memory;
  std::string strategy{gpu::all_strategies().front().name};
  std::optional<unsigned> batch_wait_ms;
  SharingArguments sharing;
  SecondStageArguments second_stage;
  std::string algorithm{all_algorithms().front().name};
  SearchBudget budget;
  std::size_t k = 10;

  /// Results of the first stage.
  std::size_t first_k() const { return second_stage.wanted() ? second_stage.rerank : k; }
  /// Results of any search.
  std::size_t largest_k() const {
    const double documents = expand.empty() ? 0 : read_expansion(expand).values[0];
    return std::max(first_k(), static_cast<std::size_t>(documents));
  }
};

bool is_on_terminal(const QueryArguments& arguments) {
  return arguments.output.empty() && ::isatty(STDOUT_FILENO) == 1;
}

/// A single query on a terminal is for people, everything else for programs.
const RunFormat& output_format(const QueryArguments& arguments) {
  if (!arguments.output_format.empty()) return run_format_named(arguments.output_format);
  const bool for_people = !arguments.queries.text.empty() && is_on_terminal(arguments);
  return for_people ? run_format_named("text") : all_run_formats().front();
}

/// Memory limit for answers that wait for their turn.
std::uint64_t held_bytes(const Resources& resources) { return resources.memory_bytes / 16; }

/// What a run works with. All of it must outlive the run.
struct QueryRunParts {
  const Resources& resources;
  SearchBackend& backend;
  const CpuBackend& cpu;
  const QueryReader& reader;
  SearchRequest request;                 ///< but for its queries
  const QueryExpander* expander;         ///< null: queries stay as they are
  const api::SecondStage* second_stage;  ///< null: there is none
  std::size_t k;                         ///< results of a query that are written
  UnknownQueries& unknown;
  const ResultText& result_text;
  TextOutput& out;
  IndexPages& pages;
};

/// Answers queries and writes their results.
class QueryRun {
 public:
  explicit QueryRun(const QueryRunParts& parts) : parts_(parts), statistics_(parts.resources.tmp_folder) {}

  /// Writes the answers to these queries, in their order.
  void answer(const std::vector<Query>& queries) {
    naming_wrong(queries, [&] { write_answers(queries); });
  }

  /// Answers queries as they arrive; `note` sees each batch first. Begins about `max_begun` batches at a time, at
  /// least 1. Throws errors of the stream after it has answered the queries before them.
  void answer(QueryStream& stream, std::size_t max_begun,
              const std::function<void(const std::vector<Query>& queries)>& note) {
    using BegunBatches = BatchCollector<std::unique_ptr<Batch>>;
    // It holds twice as many as it hands over at a time.
    BegunBatches begun(std::max<std::size_t>(1, max_begun / 2), BegunBatches::Clock::duration(0));
    std::exception_ptr error;
    std::jthread reader([&] {
      try {
        for (std::vector<Query> queries = stream.next(); !queries.empty(); queries = stream.next())
          if (!begun.push(begin(std::move(queries)))) break;
      } catch (...) {
        error = std::current_exception();
      }
      begun.finish();
    });
    try {
      for (auto some = begun.take(); !some.empty(); some = begun.take())
        for (const std::unique_ptr<Batch>& batch : some) {
          note(batch->queries);
          naming_wrong(batch->queries,
                       [&] { parts_.backend.finish(*batch->search, consumer(batch->queries, batch->parsed.views())); });
          parts_.out.show();
        }
    } catch (...) {
      stream.stop();
      begun.close();
      throw;
    }
    reader.join();
    if (error) std::rethrow_exception(error);
  }

  RunStatistics& statistics() { return statistics_; }

 private:
  /// Queries that arrived together, under way.
  struct Batch {
    std::vector<Query> queries;
    ParsedQueries parsed;
    std::unique_ptr<PendingSearch> search = nullptr;
  };

  /// As answer(), with errors that do not name a query.
  void write_answers(const std::vector<Query>& queries) {
    const ParsedQueries read_queries = read(queries);
    SearchRequest request = parts_.request;
    request.queries = read_queries.views();
    if (parts_.expander == nullptr) {
      quern::run(parts_.backend, request, consumer(queries, request.queries));
      return;
    }
    const QueryExpander::Batch expanded =
        parts_.expander->expand(parts_.backend, request, parts_.resources.threads, &parts_.pages);
    AnswerConsumer second = consumer(queries, request.queries);
    request.queries = expanded.queries.views();
    second.render = [&expanded, render = std::move(second.render)](std::size_t i, QueryAnswer& answer) {
      expanded.add_cost(i, answer);
      render(i, answer);
    };
    quern::run(parts_.backend, request, second);
  }

  /// Calls work() on these queries. Its InvalidArgument names the query, if a query is wrong.
  void naming_wrong(const std::vector<Query>& queries, const std::function<void()>& work) const {
    try {
      work();
    } catch (const InvalidArgument&) {
      const auto answer = [&](std::size_t i) {
        parts_.cpu.search(parts_.reader.read(queries[i].text, *parts_.reader.analyzer()), *parts_.request.algorithm,
                          parts_.request.k, nullptr, parts_.request.passing);
      };
      api::refuse_wrong_query(queries.size(), answer, [&](std::size_t i) { return queries[i].id; });
      throw;
    }
  }

  std::unique_ptr<Batch> begin(std::vector<Query> queries) {
    ParsedQueries parsed;
    naming_wrong(queries, [&] { parsed = read(queries); });
    auto batch = std::make_unique<Batch>(Batch{std::move(queries), std::move(parsed)});
    SearchRequest request = parts_.request;
    request.queries = batch->parsed.views();
    request.others_arrive = true;
    batch->search = parts_.backend.begin(request);
    return batch;
  }

  /// Writes and counts the answers to these queries, as they are and as they were read.
  AnswerConsumer consumer(const std::vector<Query>& queries, std::span<const QueryView> views) {
    AnswerConsumer consumer;
    consumer.threads = parts_.resources.threads;
    consumer.held_bytes = held_bytes(parts_.resources);
    consumer.render = [&](std::size_t i, QueryAnswer& answer) {
      if (parts_.second_stage != nullptr)
        answer.time_us += parts_.second_stage->rerank(queries[i].text, answer.documents, parts_.k);
      if (is_short(answer))
        parts_.result_text.write(queries[i], answer.documents, proof_of(answer),
                                 [&](std::string text) { answer.text = std::move(text); });
      parts_.pages.note_query();
    };
    consumer.take = [&, views](std::size_t i, const QueryAnswer& answer) {
      if (answer.documents.empty()) parts_.unknown.add(queries[i], views[i]);
      if (is_short(answer)) {
        parts_.out.write(answer.text);
      } else {
        write_long(queries[i], answer);
      }
      statistics_.add(answer);
      parts_.resources.progress->add(1);
    };
    return consumer;
  }

  ParsedQueries read(const std::vector<Query>& queries) const {
    return parts_.reader.read(texts_of(queries), parts_.resources.threads);
  }

  /// Whether the thread that answers a query also turns all results into text.
  static bool is_short(const QueryAnswer& answer) { return answer.documents.size() <= ResultText::max_results; }

  std::optional<ResultProof> proof_of(const QueryAnswer& answer) const {
    if (!parts_.request.algorithm->budget.is_set()) return std::nullopt;
    return ResultProof{answer.statistics.bound_left};
  }

  void write_long(const Query& query, const QueryAnswer& answer) {
    // The text of many results takes more memory than the results, so it is made and written step by step.
    parts_.result_text.write(query, answer.documents, proof_of(answer), [&](const std::string& text) {
      parts_.out.write(text);
      parts_.pages.note_query();
    });
  }

  QueryRunParts parts_;
  RunStatistics statistics_;
};

/// Batches of a stream that are begun at a time. With both, each query that arrives may be one.
std::size_t max_begun_batches(const QueryArguments& arguments, const Resources& resources) {
  constexpr std::size_t for_gpus = 3, max = 16384;
  if (arguments.device != QueryDevice::both) return for_gpus;
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(
      held_bytes(resources) / api::bytes_for_query(arguments.first_k() * sizeof(ScoredDocument)), 1, max));
}

/// Moves the second stage to the GPU if that answers queries; half of its memory is then for copies.
void use_gpu(const QueryArguments& arguments, api::SecondStage& second_stage, const Resources& resources,
             api::SearchProcessors& processors) {
  const std::uint64_t bytes = processors.second_stage_bytes();
  gpu::GpuRerankOptions options;
  options.gpu = arguments.gpu.gpu;
  options.memory_bytes = processors.gpu_memory_bytes();
  options.memory_divisor = api::SecondStage::gpu_memory_divisor;
  options.pinned_bytes = bytes / 2;
  options.threads = resources.threads;
  options.notice = remarks(arguments.common);
  second_stage.use_gpu(arguments.device, std::move(options), *resources.progress);
  if (second_stage.on_gpu() != nullptr)
    second_stage.limit_memory(bytes - bytes / 2, resources.threads, processors.pages());
}

/// Refuses options that have no effect on queries of this kind.
void check_vectors(const QueryArguments& arguments) {
  if (arguments.queries.layout.format == QueryFormat::vector && arguments.second_stage.wanted())
    throw usage_error("--ranker needs text queries, not --queries-format vector");
  check_query_scale(arguments.queries);
}

/// With a budget: refuses what can't keep to it, or answers queries twice.
void check_budget(const QueryArguments& arguments) {
  if (!arguments.budget.is_set()) return;
  if (arguments.device != QueryDevice::cpu) throw usage_error("--budget-us and --blocks-left-out need --device cpu");
  if (!arguments.expand.empty() || arguments.second_stage.wanted())
    throw usage_error("--budget-us and --blocks-left-out can't be combined with --expand or --ranker");
}

/// With --batch-wait: refuses queries that do not arrive one by one, or are not answered so.
void check_stream(const QueryArguments& arguments) {
  if (!arguments.expand.empty())
    throw usage_error("--expand answers each query twice: it can't be combined with --batch-wait");
  const QuerySource& source = arguments.queries;
  if (source.file.empty())
    throw usage_error("--batch-wait needs queries that arrive over time: -q FILE, or -q - for standard input");
  try {
    QueryLineParser(source.layout, source_name(source.file));
  } catch (const InvalidArgument& wrong) {
    throw CLI::ValidationError(wrong.what());
  }
}

/// What --fields names, if it is given.
std::optional<ResultFields> result_fields(const QueryArguments& arguments, const IndexShards& shards) {
  if (arguments.fields.empty()) return std::nullopt;
  if (const RunFormat& format = output_format(arguments); !format.shows_titles)
    throw usage_error("--fields: the output format '{}' can't show fields; use --output-format json or text",
                      format.name);
  return std::optional<ResultFields>(std::in_place, arguments.fields, shards);
}

/// Answers queries as they arrive, with remarks on them.
void answer_arriving(const QueryArguments& arguments, const Resources& resources, QueryRun& query_run) {
  // With both, each processor that is free takes what has arrived.
  const unsigned wait_ms = arguments.device == QueryDevice::both ? 0 : *arguments.batch_wait_ms;
  QuerySource source = arguments.queries;
  source.layout.limit_memory(resources.memory_bytes);
  QueryStream stream(source.file, source_name(source.file), source.layout, arguments.gpu.batch_queries,
                     std::chrono::milliseconds(wait_ms), resources.memory_bytes / 8);
  QueryRemarks remarks(arguments.common, source.layout.format);
  query_run.answer(stream, max_begun_batches(arguments, resources), [&](const std::vector<Query>& batch) {
    for (const Query& query : batch) {
      remarks.look_at(query.text);
      remarks.look_at_id(query.id);
    }
  });
}

/// A docno is compared together with its neighbours in the file, many more than this.
constexpr std::uint64_t documents_per_read = 256;

/// Verifies the docnos of an index in a thread of its own. Runs with many results read nearly all docnos, and checksums
/// are best compared while GPUs get the index, not while they wait for results to be written. get() waits, and throws
/// what reading docnos would. The index must outlive it.
std::future<void> check_docnos(const IndexReader& index) {
  return std::async(std::launch::async, [&index] {
    for (std::uint64_t docid = 0; docid < index.num_documents(); docid += documents_per_read)
      index.docno(static_cast<docid_t>(docid));
  });
}

/// Opens engines and the backend of the device.
void open_processors(const QueryArguments& arguments, const IndexShards& shards, const api::SecondStage* second_stage,
                     const Resources& resources, api::SearchProcessors& processors) {
  processors.open_engines(
      [&](const IndexReader& index) { return scoring_options(arguments.scoring, index, arguments.queries); });
  const QueryEngine& engine = *processors.engines().front();
  if (arguments.scoring.scorer == Scorer::bm25_pagerank && !engine.ends_early())
    say(arguments.common, "quern: early termination is off: " + engine.why_not_early());
  GpuOptions gpu = arguments.gpu;
  gpu.strategy = &gpu::strategy_named(arguments.strategy);
  std::vector<std::future<void>> docnos;
  if (arguments.device != QueryDevice::cpu)
    for (const IndexReader& shard : shards) docnos.push_back(check_docnos(shard));
  processors.open_backend(backend_options(arguments.device, gpu, arguments.sharing, resources.threads, shards[0],
                                          remarks(arguments.common)),
                          second_stage, *resources.progress);
  for (std::future<void>& checked : docnos) checked.get();
}

void run(const QueryArguments& arguments) {
  check_strategy(arguments.strategy, {arguments.algorithm});
  if (arguments.filter) check_filters(arguments.strategy, arguments.device);
  check_sharing(arguments.sharing, arguments.device);
  arguments.second_stage.check(arguments.k);
  check_vectors(arguments);
  check_budget(arguments);
  const QueryAlgorithm algorithm = algorithm_within(arguments.algorithm, arguments.budget);
  const bool streams = arguments.batch_wait_ms.has_value();
  if (streams) check_stream(arguments);
  Resources resources = make_resources(arguments.common, arguments.output);
  const api::Index index = api::Index::open_shards(arguments.indexes);
  const IndexShards& indexes = index.impl()->shards;
  if (indexes.size() == 1) check_whole_results(indexes[0], algorithm);
  std::optional<api::SecondStage> second_stage;
  if (arguments.second_stage.wanted()) second_stage.emplace(arguments.second_stage.ranker, indexes);
  api::SecondStage* const stage = second_stage ? &*second_stage : nullptr;
  std::vector<ForwardReader> forwards;
  if (!arguments.expand.empty() && stage == nullptr) forwards = QueryExpander::open_forwards(indexes);
  const std::optional<ResultFields> fields = result_fields(arguments, indexes);
  const std::optional<api::Filter> filter =
      open_filter(arguments.filter, arguments.queries.file, index, resources, arguments.common);
  api::SearchProcessors processors(indexes, memory_options(arguments.gpu_memory), arguments.gpu_memory.plans,
                                   resources.threads);
  const std::span<const ForwardReader> used_forwards = stage != nullptr ? stage->forwards() : forwards;
  processors.divide_memory({arguments.largest_k(), arguments.scoring.scorer, arguments.device}, stage, resources,
                           used_forwards);
  if (arguments.device == QueryDevice::cpu)
    for (const std::string& plan : arguments.gpu_memory.plans)
      say(arguments.common, "quern: {}: the plan fits this index but is not used: queries run on the CPU", plan);
  // Before the queries, which may take long to come.
  TextOutput out(arguments.output, arguments.common.force);
  StatisticsFile statistics(arguments.stats);
  if (stage != nullptr) use_gpu(arguments, *stage, resources, processors);
  std::optional<QueryGroups> queries;
  if (!streams) queries.emplace(arguments.queries, arguments.common, resources);

  open_processors(arguments, indexes, stage, resources, processors);
  const QueryEngine& engine = *processors.engines().front();
  const RunFormat& format = output_format(arguments);
  const ResultText result_text(indexes, format, arguments.tag, fields ? &*fields : nullptr, is_on_terminal(arguments));
  std::optional<QueryExpander> expander;
  if (!arguments.expand.empty())
    expander.emplace(read_expansion(arguments.expand), processors.engines(), used_forwards);
  processors.pages().trim();
  const QueryReader reader = engine.reader(query_kind(arguments.queries.layout.format));
  const SearchRequest request{
      {}, &algorithm, arguments.first_k(), filter ? ShardFilters(filter->impl()->by_shard) : ShardFilters()};
  UnknownQueries unknown(indexes);
  QueryRun query_run({resources, processors.backend().backend(), processors.backend().cpu(), reader, request,
                      expander ? &*expander : nullptr, stage, arguments.k, unknown, result_text, out,
                      processors.pages()});
  resources.progress->start("query", queries ? queries->count() : 0, "queries");
  const auto begun = WallClock::now();
  if (streams)
    answer_arriving(arguments, resources, query_run);
  else
    queries->for_each([&](const std::vector<Query>& group) { query_run.answer(group); });
  const double seconds = seconds_since(begun);
  out.finish();
  resources.progress->finish();
  unknown.report(arguments.common);
  if (arguments.budget.is_set()) query_run.statistics().report_unproven(arguments.common);
  if (!statistics) return;
  query_run.statistics().add(processors.backend());
  const bool reranks = arguments.second_stage.wanted();
  query_run.statistics().write(statistics,
                               {arguments.common, arguments.algorithm, arguments.k, arguments.expand,
                                reranks ? arguments.first_k() : 0, resources.threads},
                               engine, stage != nullptr ? stage->on_gpu() : nullptr, seconds);
}

}  // namespace

void add_query_command(CLI::App& program) {
  auto [command, arguments] =
      add_command<QueryArguments>(program, "query", "Rank documents: print the k best for each query", run);
  add_shards_argument(command, arguments.indexes)->required();
  add_query_source_options(command, arguments.queries, QueryKinds::text_and_vectors);
  add_name_option(command, "-a,--algorithm", arguments.algorithm, all_algorithms(),
                  with_choices("Query algorithm:", all_algorithms()));
  add_number_option(command, "-k", arguments.k, "N", "Results per query", 1, end_docid);
  add_budget_options(command, arguments.budget);
  add_filter_option(command, arguments.filter);
  add_second_stage_options(command, arguments.second_stage);
  add_expand_option(command, arguments.expand);
  add_scoring_options(command, arguments.scoring);
  add_device_option(command, arguments.device, all_query_devices);
  add_sharing_options(command, arguments.sharing);
  add_gpu_option(command, arguments.gpu.gpu);
  add_gpus_option(command, arguments.gpu.gpus);
  add_batch_option(command, arguments.gpu.batch_queries);
  add_number_option(
      command, "--batch-wait", arguments.batch_wait_ms, "MS",
      "Read queries as they arrive, one per line in the format that --queries-format names, not compressed, and answer "
      "them once --batch of them have arrived or the first has waited MS milliseconds; with --device both, at once",
      0u, 3600000u);
  add_gpu_memory_options(command, arguments.gpu_memory);
  add_settings_option(command, "--gpu-options", "GPU settings; quern bench gpu --help-all says more",
                      [&arguments = arguments](CLI::App& settings) {
                        add_strategy_options(settings, arguments.strategy, arguments.gpu.strategy_options);
                        add_ranked_list_options(settings, arguments.gpu_memory.lists);
                        add_policy_options(settings, arguments.sharing.options);
                        add_gpu_rerank_options(settings, arguments.second_stage.ranker);
                      });
  add_name_option(
      command, "--output-format", arguments.output_format, all_run_formats(),
      with_choices("Format of the results (default: trec; text for --query on a terminal):", all_run_formats()));
  add_fields_option(command, arguments.fields);
  add_option(command, "--tag", arguments.tag, "NAME", "Name of the run in trec output")->capture_default_str();
  add_answer_options(command, arguments.common, arguments.output, arguments.stats);
  set_notes(
      command, {},
      {{"quern query my.quern --query \"water mill\""},
       {"quern query my.quern -q topics.txt -a and -k 1000 -o my.run"},
       {"quern query my.quern --query \"water mill\" --filter 'lang=en and date>=2020'",
        "Only among documents that pass; the index was built with --keep-fields lang,date"},
       {"quern query my.quern --query \"water mill\" --fields title,lang,text --output-format text",
        "With the part of each text around the query's words; the index was built with --store-text"},
       {"quern query scored.quern -q topics.txt -a and --scorer bm25+pagerank",
        "With an index that quern index --order score built"},
       {"quern query my.quern -q topics.txt --ranker model.txt --rerank 1000 -o my.run",
        "Reorder the 1000 best with a learned model; the index was built with --forward"},
       {"quern query my.quern -q topics.txt --expand rm3 -k 1000 -o my.run",
        "Pseudo-relevance feedback; the index was built with --forward"},
       {"quern query splade.quern -q queries.jsonl --queries-format vector --query-scale 100 -o my.run",
        "Queries of terms with weights"},
       {"quern query splade.quern -q queries.jsonl --queries-format vector --query-scale 100 --blocks-left-out 80 "
        "--output-format json",
        "Approximate and fast; says of which queries the results are proven exact"},
       {"quern query my.quern -q log.txt.zst --device auto -o my.run"},
       {"quern query shard-*.quern -q topics.txt --device auto --gpus all -o my.run",
        "Over all shards, with the results of the whole index; each GPU holds some of the shards"},
       {"quern query my.quern -q log.txt --device both --costs my.costs --deadline 10 --stats stats.json -o my.run",
        "Each query on the CPU or a GPU, where it is predicted to finish first"},
       {"quern query my.quern -q - --queries-format lines --device gpu --batch 1024 --batch-wait 5",
        "Answer queries as they arrive"},
       {"zcat log.gz | quern query my.quern -q - --output-format json"}});
}

}  // namespace quern::tools
