#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "quern/core/bytes.hpp"
#include "quern/core/size_text.hpp"
#include "quern/core/wall_clock.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/formats/queries/query_file.hpp"
#include "quern/formats/queries/run_file.hpp"
#include "quern/io/atomic_output.hpp"
#include "quern/query/index_pages.hpp"
#include "quern/query/query_engine.hpp"
#include "quern/query/query_stream.hpp"
#include "quern/query/top_k.hpp"

#include "answer_stream.hpp"
#include "command.hpp"
#include "figures.hpp"
#include "filter_option.hpp"
#include "gpu_options.hpp"
#include "output_files.hpp"
#include "query_options.hpp"
#include "query_processors.hpp"
#include "query_remarks.hpp"
#include "result_fields.hpp"
#include "second_stage.hpp"

namespace quern::tools {
namespace {

struct QueryArguments {
  CommonOptions common;
  QuerySource queries;
  ScoringArguments scoring;
  std::string index, output, output_format, tag = "quern", stats;
  std::optional<std::string> filter;
  std::vector<std::string> fields;
  QueryDevice device = QueryDevice::cpu;
  GpuOptions gpu;
  GpuMemoryArguments gpu_memory;
  std::string strategy{gpu::all_strategies().front().name};
  std::optional<unsigned> batch_wait_ms;
  std::optional<double> query_scale;
  SharingArguments sharing;
  SecondStageArguments second_stage;
  std::string algorithm{all_algorithms().front().name};
  std::size_t k = 10;

  /// Results of the first stage.
  std::size_t first_k() const { return second_stage.wanted() ? second_stage.rerank : k; }
};

/// A single query on a terminal is for people, everything else for programs.
const RunFormat& output_format(const QueryArguments& arguments) {
  if (!arguments.output_format.empty()) return run_format_named(arguments.output_format);
  const bool for_people = !arguments.queries.text.empty() && arguments.output.empty() && ::isatty(STDOUT_FILENO) == 1;
  return for_people ? run_format_named("text") : *all_run_formats().front();
}

/// Turns docIDs into what the output format shows. Safe to share between threads.
class ResultText {
 public:
  /// Results that are turned into text at once.
  static constexpr std::size_t max_results = 1024;

  /// `fields`: those that were asked for; null: title and URL.
  ResultText(const IndexReader& index, const RunFormat& format, const QueryArguments& arguments,
             const ResultFields* fields)
      : index_(index),
        format_(format),
        tag_(arguments.tag),
        fields_(fields),
        on_terminal_(arguments.output.empty() && ::isatty(STDOUT_FILENO) == 1) {}

  /// Calls write(text) for a query's results, once where there are at most max_results.
  template <class Write>
  void write(const Query& query, std::span<const ScoredDocument> documents, Write&& write) const {
    std::optional<ResultFields::OfQuery> fields;
    if (fields_ != nullptr) fields.emplace(*fields_, query.text);
    for (std::size_t from = 0; from == 0 || from < documents.size(); from += max_results) {
      std::vector<IndexReader::DocumentText> texts;
      const auto piece = documents.subspan(from, std::min(max_results, documents.size() - from));
      const auto results = results_of(piece, texts, fields ? &*fields : nullptr);
      std::string text;
      format_.append_piece(text, query.id, query.text,
                           {results, from + 1, from == 0, from + results.size() == documents.size(), on_terminal_},
                           tag_);
      write(std::move(text));
    }
  }

 private:
  std::vector<RunResult> results_of(std::span<const ScoredDocument> documents,
                                    std::vector<IndexReader::DocumentText>& texts,
                                    ResultFields::OfQuery* fields) const {
    if (fields != nullptr) fields->clear();
    texts.reserve(documents.size());
    std::vector<RunResult> results;
    results.reserve(documents.size());
    for (const ScoredDocument& document : documents) {
      RunResult& result = results.emplace_back();
      result.docno = index_.docno(document.docid);
      result.score = document.score;
      if (!format_.shows_titles()) continue;
      texts.push_back(index_.text(document.docid));
      if (fields_ == nullptr || fields_->has_title()) result.title = texts.back().title;
      if (fields_ == nullptr || fields_->has_url()) result.url = texts.back().url;
      if (fields != nullptr) result.fields = fields->of(document.docid, texts.back());
    }
    return results;
  }

  const IndexReader& index_;
  const RunFormat& format_;
  const std::string& tag_;
  const ResultFields* fields_;
  bool on_terminal_;
};

Json shared_json(const SharedFigures& figures) {
  const auto counts = [](const SharedCounts& of) {
    return Json{{"queries", of.queries()},
                {"faster", of.faster},
                {"together", of.together},
                {"slower", of.slower},
                {"taken_over", of.taken_over}};
  };
  return {{"on_cpu", counts(figures.on_cpu)},
          {"on_gpu", counts(figures.on_gpu)},
          {"batches", figures.batches},
          {"missed_deadlines", figures.missed}};
}

/// Collects the times and counts of queries, for --stats.
class RunStatistics {
 public:
  explicit RunStatistics(const std::string& tmp_folder) : times_us_(tmp_folder) {}

  void add(const QueryAnswer& answer) {
    counts_ += answer.statistics;
    times_us_.add(answer.time_us);
  }
  void add(const GpuStatistics& gpu) { gpu_ += gpu; }
  void set(const SharedFigures& shared) { shared_ = shared; }

  std::uint64_t queries() const { return times_us_.count(); }
  /// Times, counts, and the work of GPUs if there were any. `seconds` is the time of all queries together.
  Json json(const QueryEngine& engine, double seconds) const;
  /// The same for people, a line or two.
  std::vector<std::string> lines(const QueryEngine& engine, unsigned threads, double seconds) const;

 private:
  double rate(double seconds) const;

  QueryStatistics counts_;
  LatencyLog times_us_;
  GpuStatistics gpu_;
  std::optional<SharedFigures> shared_;
};

double RunStatistics::rate(double seconds) const { return static_cast<double>(queries()) / std::max(seconds, 1e-9); }

Json RunStatistics::json(const QueryEngine& engine, double seconds) const {
  Json json = times_json(times_us_.summary());
  json.update({{"queries_per_second", rate(seconds)},
               {"postings", counts_.postings},
               {"postings_scored", counts_.postings_scored},
               {"blocks", counts_.blocks},
               {"blocks_decoded", counts_.blocks_decoded},
               {"blocks_skipped", counts_.blocks - std::min(counts_.blocks, counts_.blocks_decoded)},
               {"early_termination", engine.ends_early()}});
  json["device"] = shared_ ? name_of_value(all_query_devices, QueryDevice::both) : device_name(gpu_.queries > 0);
  if (shared_) json["shared"] = shared_json(*shared_);
  if (gpu_.queries > 0) json["gpu"] = gpu_json(gpu_);
  if (engine.ends_early()) json.update({{"stopped_early", counts_.stopped_early}, {"depths", depths_json(counts_)}});
  return json;
}

std::vector<std::string> RunStatistics::lines(const QueryEngine& engine, unsigned threads, double seconds) const {
  const LatencySummary times = times_us_.summary();
  std::vector<std::string> lines{fmt::format(
      "{}, {:.0f} per second on {}; {:.1f} us per query on average, {:.1f} at the median, {:.1f} at the 99th "
      "percentile; {} of {} postings scored, {} of {} blocks decoded",
      count_text(queries(), "query", "queries"), rate(seconds), count_text(threads, "thread"), times.mean_us,
      times.p50_us, times.p99_us, counts_.postings_scored, counts_.postings, counts_.blocks_decoded, counts_.blocks)};
  if (shared_)
    lines.push_back(
        fmt::format("{} on the CPU and {} on GPUs, of which {} and {} would take less time on the other if it were "
                    "idle; GPUs were predicted to answer {} sooner alone; {} after the deadline",
                    count_text(shared_->on_cpu.queries(), "query", "queries"), shared_->on_gpu.queries(),
                    shared_->on_cpu.slower + shared_->on_cpu.taken_over, shared_->on_gpu.slower,
                    shared_->on_gpu.together, shared_->missed));
  if (engine.ends_early())
    lines.push_back(fmt::format("{} ended early after reading {:.1f} % of their shortest lists",
                                count_text(counts_.stopped_early, "query", "queries"),
                                100 * counts_.depths.front().mean_share()));
  return lines;
}

/// Answers queries and writes their results.
class QueryRun {
 public:
  QueryRun(const QueryArguments& arguments, const Resources& resources, const IndexReader& index,
           const QueryEngine& engine, const DocumentSet* passing, const ResultFields* fields,
           const GpuMemoryPlan& gpu_memory, const SecondStage* second_stage, IndexPages& pages, TextOutput& out)
      : arguments_(arguments),
        resources_(resources),
        format_(output_format(arguments)),
        result_text_(index, format_, arguments, fields),
        second_stage_(second_stage),
        out_(out),
        pages_(pages),
        statistics_(resources.tmp_folder),
        processors_(engine, arguments.device, gpu_options(arguments, gpu_memory, second_stage), arguments.sharing,
                    {algorithm_named(arguments.algorithm), arguments.first_k(), resources.threads, passing},
                    *resources.progress, [&](const std::string& text) { say(arguments_.common, "quern: " + text); }) {}

  void begin() {
    std::string text;
    format_.begin(text);
    out_.write(text);
  }
  void end() {
    std::string text;
    format_.end(text);
    out_.write(text);
  }

  /// Writes the answers to these queries, in their order.
  void answer(const std::vector<Query>& queries) {
    GpuStatistics of_gpus;
    processors_.run(texts_of(queries), steps(queries), of_gpus, held_bytes());
    add(of_gpus);
  }
  /// The same for queries as they arrive; `note` looks at each batch first.
  void answer(QueryStream& stream, const std::function<void(const std::vector<Query>& queries)>& note) {
    answer_stream(stream, processors_, most_begun(), [&](StreamBatch& batch) {
      note(batch.queries);
      GpuStatistics of_gpus;
      processors_.finish(batch.begun, steps(batch.queries), of_gpus, held_bytes());
      add(of_gpus);
      if (arguments_.output.empty()) flush_output();
    });
  }

  const RunStatistics& statistics() const { return statistics_; }

 private:
  /// What is done with the answers to these queries.
  BatchSteps steps(const std::vector<Query>& queries) {
    BatchSteps steps;
    steps.render = [&](std::size_t i, QueryAnswer& answer) {
      if (second_stage_ != nullptr)
        answer.time_us += second_stage_->rerank(queries[i].text, answer.documents, arguments_.k);
      if (is_short(answer))
        result_text_.write(queries[i], answer.documents, [&](std::string text) { answer.text = std::move(text); });
      pages_.note_query();
    };
    steps.take = [&](std::size_t i, const QueryAnswer& answer) {
      if (is_short(answer)) {
        out_.write(answer.text);
      } else {
        write_long(queries[i], answer.documents);
      }
      statistics_.add(answer);
      resources_.progress->add(1);
    };
    return steps;
  }
  void add(const GpuStatistics& of_gpus) {
    statistics_.add(of_gpus);
    if (processors_.shared() != nullptr) statistics_.set(*processors_.shared());
  }
  std::uint64_t held_bytes() const { return resources_.memory_bytes / 16; }
  /// Batches of a stream that are begun at a time. With both, each query that arrives may be one.
  std::size_t most_begun() const {
    constexpr std::size_t for_gpus = 3, most = 16384;
    if (arguments_.device != QueryDevice::both) return for_gpus;
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(
        held_bytes() / bytes_for_query(arguments_.first_k() * sizeof(ScoredDocument)), 1, most));
  }
  /// Whether the thread that answers a query also turns all results into text.
  static bool is_short(const QueryAnswer& answer) { return answer.documents.size() <= ResultText::max_results; }

  /// The text of many results takes more memory than they do: a piece is written before the next is made.
  void write_long(const Query& query, std::span<const ScoredDocument> documents) {
    result_text_.write(query, documents, [&](const std::string& text) {
      out_.write(text);
      pages_.note_query();
    });
  }

  /// The second stage may still take memory of the GPU.
  static GpuOptions gpu_options(const QueryArguments& arguments, const GpuMemoryPlan& memory,
                                const SecondStage* second_stage) {
    GpuOptions options = arguments.gpu;
    options.strategy = &gpu::strategy_named(arguments.strategy);
    options.memory = memory.options();
    if (second_stage == nullptr || second_stage->on_gpu() == nullptr) return options;
    if (options.memory.bytes) {
      *options.memory.bytes -= *options.memory.bytes / SecondStage::gpu_memory_parts;
    } else {
      options.memory.reserved = {options.gpu, second_stage->on_gpu()->bytes_left()};
    }
    return options;
  }

  const QueryArguments& arguments_;
  const Resources& resources_;
  const RunFormat& format_;
  const ResultText result_text_;
  const SecondStage* second_stage_;  ///< null: there is none
  TextOutput& out_;
  IndexPages& pages_;
  RunStatistics statistics_;
  QueryProcessors processors_;
};

void write_statistics(StatisticsFile& file, const QueryArguments& arguments, const RunStatistics& statistics,
                      const QueryEngine& engine, const gpu::GpuReranker* reranker, unsigned threads, double seconds) {
  Json json = {{"queries", statistics.queries()},
               {"algorithm", arguments.algorithm},
               {"k", arguments.k},
               {"rerank", arguments.second_stage.wanted() ? arguments.first_k() : 0},
               {"scores", name_of_value(scores_names, engine.options().scores)},
               {"scorer", name_of_value(scorer_names, arguments.scoring.scorer)},
               {"threads", threads}};
  json.update(statistics.json(engine, seconds));
  if (reranker != nullptr) json["rerank_on_gpu"] = gpu_rerank_json(reranker->counts());
  file.write(json);
  for (const std::string& line : statistics.lines(engine, threads, seconds)) say(arguments.common, "quern: " + line);
}

/// What a second stage takes besides the results.
std::uint64_t bytes_for_second_stage(const QueryArguments& arguments, const Resources& resources) {
  return arguments.second_stage.wanted() ? resources.memory_bytes / SecondStage::memory_share : 0;
}

/// What is left for the queries besides an engine's tables, the results, and what is pinned for GPUs. Refuses what
/// can't work with the memory budget before any query is read.
std::uint64_t memory_for_queries(const QueryArguments& arguments, const IndexReader& index, const Resources& resources,
                                 GpuMemoryPlan& gpu_memory) {
  const std::uint64_t documents = index.num_documents();
  const std::uint64_t tables = QueryEngine::table_bytes(index, arguments.scoring.scorer);
  const std::uint64_t k = std::min<std::uint64_t>(arguments.first_k(), documents);
  // One query that runs, and the results that wait in each thread.
  const std::uint64_t results =
      bytes_for_query(TopK::bytes(k, documents)) + k * sizeof(ScoredDocument) * resources.threads;
  const std::uint64_t for_second_stage = bytes_for_second_stage(arguments, resources);
  const std::uint64_t needed = tables + results;
  if (needed > resources.memory_bytes - for_second_stage)
    throw InvalidArgument(fmt::format(
        "{}: queries need {} of memory, {} for tables of its {} documents and {} for the {} best of a query on {}; "
        "--memory allows {}{}: raise it, or lower {} or --threads",
        index.name(), size_text(needed), size_text(tables), documents, size_text(results), k,
        count_text(resources.threads, "thread"), size_text(resources.memory_bytes),
        for_second_stage > 0 ? fmt::format(", of which {} are for the second stage", size_text(for_second_stage)) : "",
        arguments.second_stage.wanted() ? "--rerank" : "-k"));
  std::uint64_t left = resources.memory_bytes - for_second_stage - needed;
  gpu_memory.take_pinned(arguments.device, left);
  return left + bytes_for_query(TopK::bytes(k, documents));
}

/// Moves the second stage to the GPU, if that is to answer queries; half of `bytes`, which it has of the memory, is
/// then for copies.
void use_gpu(const QueryArguments& arguments, SecondStage& second_stage, std::uint64_t bytes,
             const Resources& resources, IndexPages& pages) {
  GpuRerankMemory memory;
  memory.on_gpu = gpu_memory_limit(arguments.gpu_memory.limit).bytes;
  memory.pinned = bytes / 2;
  memory.threads = resources.threads;
  second_stage.use_gpu(arguments.device, arguments.gpu.gpu, arguments.second_stage.gpu, memory, *resources.progress,
                       [&](const std::string& text) { say(arguments.common, "quern: " + text); });
  if (second_stage.on_gpu() != nullptr) second_stage.limit_memory(bytes - memory.pinned, resources.threads, pages);
}

bool has_vectors(const QueryArguments& arguments) { return arguments.queries.format == QueryFormat::vector; }

/// Refuses options that queries of this kind can't heed.
void check_vectors(const QueryArguments& arguments) {
  if (has_vectors(arguments) && arguments.second_stage.wanted())
    throw usage_error("--ranker: features are of queries that are text, not of --queries-format vector");
  if (!has_vectors(arguments) && arguments.query_scale)
    throw usage_error("--query-scale needs --queries-format vector");
}

/// With --batch-wait: refuses queries that do not arrive one by one.
void check_stream(const QuerySource& source) {
  if (source.file.empty())
    throw usage_error("--batch-wait needs queries that arrive over time: -q FILE, or -q - for standard input");
  try {
    QueryLineParser(source.format, source_name(source.file));
  } catch (const InvalidArgument& wrong) {
    throw usage_error(wrong.what());
  }
}

ScoringOptions scoring_of(const QueryArguments& arguments, const IndexReader& index) {
  ScoringOptions options = scoring_options(arguments.scoring, index);
  if (has_vectors(arguments)) options.text = QueryText::vector;
  options.query_scale = arguments.query_scale;
  return options;
}

/// What --fields names, if it is given.
std::optional<ResultFields> result_fields(const QueryArguments& arguments, const IndexReader& index) {
  if (arguments.fields.empty()) return std::nullopt;
  if (const RunFormat& format = output_format(arguments); !format.shows_titles())
    throw usage_error(
        fmt::format("--fields: the output format '{}' has no place for fields; give --output-format json "
                    "or text",
                    format.name()));
  return std::optional<ResultFields>(std::in_place, arguments.fields, index);
}

void run(const QueryArguments& arguments) {
  check_strategy(arguments.strategy, {arguments.algorithm});
  if (arguments.filter) check_filters(arguments.strategy, arguments.device);
  check_sharing(arguments.sharing, arguments.device);
  arguments.second_stage.check(arguments.k);
  check_vectors(arguments);
  const bool streams = arguments.batch_wait_ms.has_value();
  if (streams) check_stream(arguments.queries);
  Resources resources = make_resources(arguments.common, arguments.output);
  const IndexReader index = IndexReader::open(arguments.index);
  std::optional<SecondStage> second_stage;
  if (arguments.second_stage.wanted()) second_stage.emplace(arguments.second_stage.ranker, index);
  const std::optional<ResultFields> fields = result_fields(arguments, index);
  const std::optional<DocumentSet> passing = passing_documents(
      arguments.filter, {arguments.queries.file, arguments.output}, index, resources, arguments.common);
  GpuMemoryPlan gpu_memory(arguments.gpu_memory, index);
  if (!arguments.gpu_memory.plan.empty() && arguments.device == QueryDevice::cpu)
    say(arguments.common, fmt::format("quern: {}: the plan fits this index but is not used: queries run on the CPU",
                                      arguments.gpu_memory.plan));
  const std::uint64_t for_second_stage = bytes_for_second_stage(arguments, resources);
  resources.memory_bytes = memory_for_queries(arguments, index, resources, gpu_memory);
  IndexPages pages(index, resources.memory_bytes / 2, second_stage ? &second_stage->forward() : nullptr);
  if (second_stage) second_stage->limit_memory(for_second_stage, resources.threads, pages);
  // Before the queries, which may take long to come.
  TextOutput out(arguments.output, arguments.common.force);
  StatisticsFile statistics(arguments.stats);
  if (second_stage) use_gpu(arguments, *second_stage, for_second_stage, resources, pages);
  std::optional<QueryGroups> queries;
  if (!streams) queries.emplace(arguments.queries, arguments.common, resources);

  const QueryEngine engine(index, scoring_of(arguments, index), resources.threads,
                           query_memory(resources.memory_bytes, resources.threads));
  if (arguments.scoring.scorer == Scorer::bm25_pagerank && !engine.ends_early())
    say(arguments.common, "quern: early termination is off: " + engine.why_not_early());
  QueryRun query_run(arguments, resources, index, engine, passing ? &*passing : nullptr, fields ? &*fields : nullptr,
                     gpu_memory, second_stage ? &*second_stage : nullptr, pages, out);
  resources.progress->start("query", queries ? queries->count() : 0, "queries");
  const auto begun = WallClock::now();
  query_run.begin();
  if (streams) {
    const QuerySource& source = arguments.queries;
    // With both, whoever is free takes what has arrived.
    const unsigned wait_ms = arguments.device == QueryDevice::both ? 0 : *arguments.batch_wait_ms;
    QueryStream stream(source.file, source_name(source.file), source.format, arguments.gpu.batch_queries,
                       std::chrono::milliseconds(wait_ms), resources.memory_bytes / 8);
    QueryRemarks remarks(arguments.common);
    query_run.answer(stream, [&](const std::vector<Query>& batch) {
      for (const Query& query : batch) {
        if (source.format != QueryFormat::vector) remarks.look_at(query.text);
        remarks.look_at_id(query.id);
      }
    });
  } else {
    queries->for_each([&](const std::vector<Query>& group) { query_run.answer(group); });
  }
  query_run.end();
  const double seconds = seconds_since(begun);
  out.finish();
  resources.progress->finish();
  if (statistics)
    write_statistics(statistics, arguments, query_run.statistics(), engine,
                     second_stage ? second_stage->on_gpu() : nullptr, resources.threads, seconds);
}

}  // namespace

void add_query_command(CLI::App& program) {
  auto arguments = std::make_shared<QueryArguments>();
  CLI::App* command = program.add_subcommand("query", "Rank documents: print the k best for each query");
  add_index_argument(*command, arguments->index);
  add_query_source_options(*command, arguments->queries, QueryKinds::text_and_vectors);
  add_name_option(*command, "-a,--algorithm", arguments->algorithm, all_algorithms(),
                  with_choices("Query algorithm:", all_algorithms()))
      ->capture_default_str();
  command->add_option("-k", arguments->k, "Results per query")
      ->type_name("N")
      ->check(range_validator(std::size_t{1}, std::size_t{end_docid}))
      ->capture_default_str();
  add_filter_option(*command, arguments->filter);
  add_second_stage_options(*command, arguments->second_stage);
  add_scoring_options(*command, arguments->scoring);
  command
      ->add_option("--query-scale", arguments->query_scale,
                   "With --queries-format vector, multiply weights by X and round them, for scores that are integers "
                   "(default: they must be whole)")
      ->type_name("X")
      ->check(range_validator(min_query_weight, max_query_weight));
  add_device_option(*command, arguments->device, all_query_devices);
  add_sharing_options(*command, arguments->sharing);
  add_gpu_option(*command, arguments->gpu.gpu);
  add_strategy_options(*command, arguments->strategy, arguments->gpu.strategy_options);
  add_gpus_option(*command, arguments->gpu.gpus);
  add_batch_option(*command, arguments->gpu.batch_queries);
  command
      ->add_option(
          "--batch-wait", arguments->batch_wait_ms,
          "Read queries as they arrive, one per line in the format that --queries-format names, not "
          "compressed, and answer them once --batch of them have arrived or the first has waited MS milliseconds; with "
          "--device both, at once")
      ->type_name("MS")
      ->check(range_validator(0u, 3600000u));
  add_gpu_memory_options(*command, arguments->gpu_memory);
  add_tails_option(*command, arguments->gpu_memory);
  add_name_option(
      *command, "--output-format", arguments->output_format, all_run_formats(),
      with_choices("Format of the results (default: trec; text for --query on a terminal):", all_run_formats()));
  add_fields_option(*command, arguments->fields);
  command->add_option("--tag", arguments->tag, "Name of the run in trec output")
      ->type_name("NAME")
      ->capture_default_str();
  add_answer_options(*command, arguments->common, arguments->output, arguments->stats);
  add_resource_options(*command, arguments->common);
  add_common_options(*command, arguments->common);
  set_notes(
      *command, {},
      {{"quern query my.quern --query \"water mill\""},
       {"quern query my.quern -q topics.txt -a and -k 1000 -o my.run"},
       {"quern query my.quern --query \"water mill\" --filter 'lang=en and date>=2020'",
        "Among some documents; the index was built with --keep-fields lang,date"},
       {"quern query my.quern --query \"water mill\" --fields title,lang,text --output-format text",
        "With the part of each text around the query's words; the index was built with --store-text"},
       {"quern query scored.quern -q topics.txt -a and --scorer bm25+pagerank",
        "With an index that quern index --order score built"},
       {"quern query my.quern -q topics.txt --ranker model.txt --rerank 1000 -o my.run",
        "Reorder the 1000 best by a learned model; the index was built with --forward"},
       {"quern query splade.quern -q queries.jsonl --queries-format vector --query-scale 100 -o my.run",
        "Queries of terms with weights"},
       {"quern query my.quern -q log.txt.zst --device auto -o my.run"},
       {"quern query my.quern -q log.txt --device both --costs my.costs --deadline 10 --stats stats.json -o my.run",
        "Each query on the CPU or a GPU, where it is predicted to end first"},
       {"quern query my.quern -q - --queries-format lines --device gpu --batch 1024 --batch-wait 5",
        "Answer queries as they arrive"},
       {"zcat log.gz | quern query my.quern -q - --output-format json"}});
  command->callback([arguments] { run(*arguments); });
}

}  // namespace quern::tools
